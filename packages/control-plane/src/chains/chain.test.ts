import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createSealer } from "#platform/seal.ts";
import { anchorFault, anchorOf, readAnchors } from "./anchor.ts";
import { codeOf, isProven, type Link, linkAll, linkFault } from "./chain.ts";

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
const AT = new Date("2026-01-31T12:00:00.123Z");
const entries = ["a", "b", "c", "d", "e", "f"].map((text, index) => ({ key: [7, index], digest: digestOf(text) }));
const chain = linkAll("ledger", entries, { position: 0, hash: undefined }, AT);
const sealer = createSealer({ current: "k1", keys: { k1: randomBytes(32).toString("base64") } });

const faultsOf = (links: readonly Link[], name = "ledger") =>
  links.map((link, index) => linkFault(name, link, links[index - 1])).filter((fault) => fault !== undefined);

test("links that were made in several rounds are one chain", () => {
  const [first, rest] = [entries.slice(0, 2), entries.slice(2)];
  const before = linkAll("ledger", first, { position: 0, hash: undefined }, AT);
  const last = before.at(-1) as Link;

  expect([...before, ...linkAll("ledger", rest, last, AT)]).toEqual(chain);
  expect(faultsOf(chain)).toEqual([]);
});

test.each<[string, (links: Link[]) => Link[]]>([
  ["another digest", (links) => links.with(2, { ...(links[2] as Link), digest: digestOf("z") })],
  ["another row", (links) => links.with(2, { ...(links[2] as Link), key: [7, 9] })],
  ["another time", (links) => links.with(2, { ...(links[2] as Link), linkedAt: new Date(0) })],
  ["another hash", (links) => links.with(5, { ...(links[5] as Link), hash: digestOf("z") })],
  ["a removed link", (links) => links.toSpliced(2, 1)],
  ["a removed beginning", (links) => links.slice(1)],
  ["two links in the other order", (links) => links.with(2, links[3] as Link).with(3, links[2] as Link)],
  [
    "two rows in the other order",
    (links) =>
      links
        .with(2, { ...(links[2] as Link), key: (links[3] as Link).key })
        .with(3, { ...(links[3] as Link), key: (links[2] as Link).key }),
  ],
])("a chain with %s is broken", (_, harm) => {
  expect(faultsOf(harm([...chain]))).not.toEqual([]);
});

test("links of another chain are no links of this one", () => {
  expect(faultsOf(chain, "audit")).not.toEqual([]);
});

test("only the newest link, signed with a key of the ring, proves a chain", () => {
  const newest = chain.at(-1) as Link;
  const head = { ...newest, code: codeOf(sealer, "ledger", newest) };
  const earlier = chain.at(-2) as Link;
  const stranger = createSealer({ current: "k1", keys: { k1: randomBytes(32).toString("base64") } });

  expect(isProven(sealer, "ledger", head, newest)).toBe(true);
  expect(isProven(sealer, "ledger", undefined, undefined)).toBe(true);
  expect(isProven(sealer, "ledger", head, earlier)).toBe(false);
  expect(isProven(sealer, "ledger", head, undefined)).toBe(false);
  expect(isProven(sealer, "ledger", undefined, newest)).toBe(false);
  expect(isProven(sealer, "audit", head, newest)).toBe(false);
  expect(isProven(stranger, "ledger", head, newest)).toBe(false);
  expect(isProven(sealer, "ledger", { ...head, hash: earlier.hash }, newest)).toBe(false);
});

test("an anchor finds a chain that is shorter, or another one", () => {
  const anchors = readAnchors(`${anchorOf("audit", chain[1] as Link)} ${anchorOf("ledger", chain[4] as Link)}`);

  expect(anchorFault(anchors.get("ledger"), chain[4]?.hash)).toBeUndefined();
  expect(anchorFault(anchors.get("ledger"), undefined)).toBe("cut");
  expect(anchorFault(anchors.get("ledger"), chain[3]?.hash)).toBe("replaced");
  expect(anchorFault(anchors.get("payments"), undefined)).toBeUndefined();
});
