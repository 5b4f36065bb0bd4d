import { generateKeyPairSync, sign } from "node:crypto";
import { type DeletionAllowance, signedText } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { type Deletion, type DeletionOf, guardDeletion, heldText, rememberDeletions } from "./deletion-guard.ts";

const operator = generateKeyPairSync("ed25519");
const stranger = generateKeyPairSync("ed25519");
const now = new Date("2026-06-01T12:00:00.000Z");
const hour = 3600;
const ago = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString();
const nodeOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const started = (count: number, secondsAgo: number, kind: Deletion["kind"] = "node"): Deletion[] =>
  Array.from({ length: count }, (_, index) => ({ node: nodeOf(index), kind, at: ago(secondsAgo) }));
const limits = { perWindow: 5, windowMs: 600_000, perDay: 20 };

function allow(change: Partial<DeletionAllowance> = {}, key = operator.privateKey): DeletionAllowance {
  const text = { host: 7, count: 2, from: ago(60), until: ago(-3600), ...change };
  return { ...text, signature: sign(null, Buffer.from(signedText(text)), key).toString("base64") };
}
const paidBy = (allowance: DeletionAllowance, count: number): Deletion[] =>
  Array.from({ length: count }, (_, index) => ({
    node: nodeOf(50 + index),
    kind: "node",
    at: ago(5),
    allowance: signedText(allowance),
    until: allowance.until,
  }));
const judge = (deletions: Deletion[], allowance?: DeletionAllowance, of: Partial<DeletionOf> = {}) =>
  guardDeletion({
    of: { node: nodeOf(99), kind: "node", ...of },
    now,
    deletions,
    allowance,
    limits,
    host: 7,
    operatorKey: operator.publicKey,
  });

const timeline = { kind: "timeline", id: "3" } as const;
const reclone = { kind: "reclone", id: "order" } as const;

const cases: [string, Deletion[], DeletionAllowance | undefined, string, Partial<DeletionOf>?][] = [
  ["the first", [], undefined, "admit"],
  ["the fifth", started(4, 10), undefined, "admit"],
  ["the sixth", started(5, 10), undefined, "held"],
  ["the sixth, after the window", started(5, 601), undefined, "admit"],
  ["the sixth with an allowance", started(5, 10), allow(), "admit"],
  ["the third under an allowance for two", [...started(5, 10), ...paidBy(allow(), 2)], allow(), "held"],
  ["after allowed ones, within the window's own five", [...started(4, 10), ...paidBy(allow(), 2)], undefined, "admit"],
  ["an allowance for another host", started(5, 10), allow({ host: 8 }), "held"],
  ["an allowance that has ended", started(5, 10), allow({ until: ago(1) }), "held"],
  ["an allowance that has not begun", started(5, 10), allow({ from: ago(-10) }), "held"],
  ["an allowance signed by somebody else", started(5, 10), allow({}, stranger.privateKey), "held"],
  ["an allowance whose count was raised after the signature", started(5, 10), { ...allow(), count: 100 }, "held"],
  [
    "an allowance used up, its signature spelled differently",
    [...started(5, 10), ...paidBy(allow(), 2)],
    { ...allow(), signature: `${allow().signature}\n` },
    "held",
  ],
  ["a signature that is no signature", started(5, 10), { ...allow(), signature: "?" }, "held"],
  ["the twentieth of a day", started(19, hour), undefined, "admit"],
  ["the twenty-first of a day, in an empty window", started(20, hour), undefined, "held"],
  ["the twenty-first, when the day is over", started(20, 24 * hour + 1), undefined, "admit"],
  ["the twenty-first of a day with an allowance", started(20, hour), allow(), "admit"],
  ["the twentieth beside allowed ones", [...started(19, hour), ...paidBy(allow(), 2)], undefined, "admit"],
  ["a timeline counts with nodes in the window", started(5, 10), undefined, "held", timeline],
  ["a timeline counts with nodes in the day", started(20, hour), undefined, "held", timeline],
  ["a node after twenty timelines of the day", started(20, hour, "timeline"), undefined, "held"],
  ["a re-clone counts with nodes in the window", started(5, 10), undefined, "held", reclone],
  ["a node after five re-clones in the window", started(5, 10, "reclone"), undefined, "held"],
  ["a re-clone after twenty nodes of the day", started(20, hour), undefined, "admit", reclone],
  ["a node after twenty re-clones of the day", started(20, hour, "reclone"), undefined, "admit"],
  ["the twentieth re-clone of a day", started(19, hour, "reclone"), undefined, "admit", reclone],
  ["the twenty-first re-clone of a day", started(20, hour, "reclone"), undefined, "held", reclone],
  ["the twenty-first re-clone with an allowance", started(20, hour, "reclone"), allow(), "admit", reclone],
];
test.each(cases)("%s", (_, deletions, allowance, kind, of) => {
  expect(judge(deletions, allowance, of).kind).toBe(kind);
});

const full = [...started(20, hour), ...started(20, hour, "reclone")];
const ofOne = (of: Pick<DeletionOf, "kind" | "id">): Deletion => ({ node: nodeOf(99), at: ago(9), ...of });
const begun: [string, DeletionOf["kind"], string | undefined, Deletion, string][] = [
  ["a started discard continues", "timeline", "3", ofOne(timeline), "started"],
  ["a discarded timeline pays for no other one", "timeline", "4", ofOne(timeline), "held"],
  ["a discarded timeline pays for no deletion of its node", "node", undefined, ofOne(timeline), "held"],
  ["a discarded timeline pays for no re-clone", "reclone", "3", ofOne(timeline), "held"],
  ["a started re-clone continues", "reclone", "order", ofOne(reclone), "started"],
  ["a re-clone pays for no second order", "reclone", "other", ofOne(reclone), "held"],
];
test.each(begun)("%s", (_, kind, id, before, verdict) => {
  expect(judge([...full, before], undefined, { kind, id }).kind).toBe(verdict);
});

test("an interrupted deletion continues even if window and day are full", () => {
  expect(judge([...started(20, hour), ...started(6, 10)], undefined, { node: nodeOf(3) }).kind).toBe("started");
});

test("a held deletion is retried when the window has room", () => {
  const deletions = [...started(1, 500), ...started(5, 10).slice(1)];
  expect(judge(deletions)).toEqual({ kind: "held", by: "window", retryAt: new Date(now.getTime() + 100_000) });
});

test("held by the day, it is retried when the oldest of the day is a day old, however empty the window is", () => {
  const deletions = [...started(1, 20 * hour), ...started(20, hour).slice(1)];
  expect(judge(deletions)).toEqual({ kind: "held", by: "day", retryAt: new Date(now.getTime() + 4 * hour * 1000) });
});

test("held by both, it is retried when both have room", () => {
  const daySooner = [...started(15, 24 * hour - 60), ...started(5, 10)];
  expect(judge(daySooner)).toMatchObject({ by: "day", retryAt: new Date(now.getTime() + 590_000) });
  const windowSooner = [...started(15, 20 * hour), ...started(5, 10)];
  expect(judge(windowSooner)).toMatchObject({ by: "day", retryAt: new Date(now.getTime() + 4 * hour * 1000) });
});

test("in a day of the fastest possible deletions a host performs twenty and holds the others", () => {
  let deletions: Deletion[] = [];
  let admitted = 0;
  for (let second = 0; second < 24 * hour; second += 60) {
    const at = new Date(now.getTime() + second * 1000);
    const verdict = guardDeletion({
      of: { node: nodeOf(second), kind: "node" },
      now: at,
      deletions,
      limits,
      host: 7,
      allowance: undefined,
      operatorKey: operator.publicKey,
    });
    if (verdict.kind !== "admit") continue;
    admitted += 1;
    deletions = [...rememberDeletions(deletions, at, limits), verdict.deletion];
  }
  expect(admitted).toBe(20);
});

test("deletions of an allowance are remembered to its end, whichever allowance is there now", () => {
  const [used] = paidBy(allow(), 1) as [Deletion];
  const old = { ...used, at: ago(25 * hour) };
  const over = { ...old, until: ago(1) };
  expect(rememberDeletions([old, over, ...started(1, 25 * hour)], now, limits)).toEqual([old]);
});

test("the message says what is held by which limit, until when, and the command that allows it", () => {
  const retryAt = new Date(now.getTime() + 60_000);
  const text = (kind: DeletionOf["kind"], by: "window" | "day") =>
    heldText({ node: nodeOf(1), kind, id: "3" }, { kind: "held", by, retryAt }, limits);
  const rest =
    "It continues at 2026-06-01T12:01:00.000Z, or as soon as the operator allows it: " +
    "`moorage admin host allow-deletions <host> --count 1`.";
  expect(text("node", "window")).toBe(
    `The deletion of this node is held by the limit of its host: 5 deletions and re-clones in 600 s. ${rest}`,
  );
  expect(text("timeline", "day")).toBe(
    `The deletion of timeline 3 of this node, which serves on a later one, is held by the limit of its host: 20 deletions in 24 hours. ${rest}`,
  );
  expect(text("reclone", "day")).toBe(
    `The re-clone of this member, which would overwrite its data, is held by the limit of its host: 20 re-clones in 24 hours. ${rest}`,
  );
});
