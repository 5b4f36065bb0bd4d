import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { formsOf } from "./forms.ts";
import { createSearch } from "./search.ts";

const PASSWORD = "dry dock & ebb/flood+täglich?";
const TOKEN = "00ff17a3c5d9e1f2b4a6c8d0e2f4061800ff17a3c5d9e1f2b4a6c8d0e2f40618";
const SEED = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

const around = (offset: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from("abcdefg".slice(0, offset)), bytes, Buffer.from("~tail")]);
const text = Buffer.from(PASSWORD);

test.each([
  ["plain", PASSWORD],
  ["JSON", JSON.stringify({ password: `${PASSWORD}"` })],
  ["URL", `?p=${encodeURIComponent(PASSWORD)}&x`],
  ["form", new URLSearchParams({ p: PASSWORD }).toString()],
  ["URL twice", encodeURIComponent(`https://a.test/?p=${encodeURIComponent(PASSWORD)}`)],
  ["hex", `\\x${text.toString("hex")}`],
  ["upper hex", text.toString("hex").toUpperCase()],
  ...[0, 1, 2, 3, 4, 5].flatMap((offset) => [
    [`base64 behind ${offset}`, around(offset, text).toString("base64")],
    [`base64url behind ${offset}`, around(offset, text).toString("base64url")],
    [`base64 behind ${offset} in bytes`, Buffer.from(around(offset, text).toString("base64")).toString("hex")],
  ]),
  ...[0, 20, 40, 60, 74].map((offset) => [
    `base64 in lines, behind ${offset}`,
    Buffer.concat([Buffer.alloc(offset, "a"), text, Buffer.alloc(99, "z")])
      .toString("base64")
      .replaceAll(/.{76}/g, "$&\\n"),
  ]),
])("a secret is found as %s", (_how, haystack) => {
  expect(hitsIn(haystack, PASSWORD)).not.toEqual([]);
});

test.each([
  ["bytes of a token in base64", Buffer.from(TOKEN, "hex").toString("base64"), TOKEN],
  ["a token in upper case", TOKEN.toUpperCase(), TOKEN],
  ["bytes of a token behind others", around(2, Buffer.from(TOKEN, "hex")).toString("base64url"), TOKEN],
  ["bytes of a seed in hex", Buffer.from("12345678901234567890").toString("hex"), SEED],
])("the bytes that a secret encodes are found: %s", (_how, haystack, secret) => {
  expect(hitsIn(haystack, secret)).not.toEqual([]);
});

test("a hash of a secret, its beginning and another secret are not reported", () => {
  const hash = createHash("sha256").update(TOKEN).digest("hex");
  for (const innocent of [hash, TOKEN.slice(0, 16), TOKEN.replace("ff", "fe"), "dry dock & ebb"])
    expect([...hitsIn(innocent, TOKEN), ...hitsIn(innocent, PASSWORD)]).toEqual([]);
});

test("a secret that spans two chunks of a stream is found", () => {
  const search = createSearch([{ kind: "token", secret: TOKEN }]);
  const haystack = Buffer.from(`${"x".repeat(100)}${TOKEN}${"y".repeat(100)}`);
  for (const byte of haystack) search.read(Buffer.from([byte]));
  expect(search.hits()).toMatchObject([{ kind: "token", how: "plain" }]);
});

test("each of many secrets is found, at any position", () => {
  const secrets = Array.from({ length: 200 }, (_, n) => createHash("sha256").update(`${n}`).digest("hex"));
  const search = createSearch(secrets.map((secret, n) => ({ kind: `token ${n}`, secret })));
  search.read(Buffer.from(secrets.join("")));
  const plain = search.hits().filter(({ how }) => how === "plain");
  expect(new Set(plain.map(({ kind }) => kind)).size).toBe(200);
  // The printed text of a hit reveals nothing.
  for (const { near } of search.hits())
    expect(secrets.some((secret) => near.includes(secret.slice(0, 16)))).toBe(false);
});

function hitsIn(haystack: string, secret: string) {
  const search = createSearch([{ kind: "canary", secret }]);
  search.read(Buffer.from(haystack));
  expect(formsOf(secret).length).toBeGreaterThan(10);
  return search.hits();
}
