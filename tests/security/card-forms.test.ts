import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { canaryOf, cardFormsOf } from "./card-forms.ts";
import { prepareSearch } from "./search.ts";

const NUMBER = "4539578763621486";
const CVV = "739";
const sha256 = (text: string) => createHash("sha256").update(text).digest();

const hitsIn = (haystack: Buffer | string) => {
  const search = prepareSearch([{ kind: "card", secret: canaryOf(NUMBER, CVV) }], cardFormsOf)();
  search.read(Buffer.from(haystack));
  return search.hits();
};

test.each<[string, Buffer | string]>([
  ["plain", `{"card_number":"${NUMBER}"}`],
  ["a JSON number", `{"card_number":${NUMBER}}`],
  ["groups", "4539 5787 6362 1486"],
  ["groups with hyphens", "4539-5787-6362-1486"],
  ["hex", Buffer.from(`x${NUMBER}`).toString("hex")],
  ["a column of bytes in upper case", Buffer.from(NUMBER).toString("hex").toUpperCase()],
  ["URL-encoded, every byte", [...Buffer.from(NUMBER)].map((byte) => `%${byte.toString(16)}`).join("")],
  ...[0, 1, 2, 3].map((n): [string, string] => [
    `base64 behind ${n}`,
    Buffer.from(`${"abc".slice(0, n)}${NUMBER}z`).toString("base64"),
  ]),
  ["UTF-16", Buffer.from(NUMBER, "utf16le")],
  ["SHA-256 in hex", sha256(NUMBER).toString("hex")],
  ["SHA-256 in base64", sha256(NUMBER).toString("base64")],
  ["SHA-256, raw", Buffer.concat([Buffer.from("xy"), sha256(NUMBER), Buffer.from("z")])],
  ["SHA-256 of number and code", sha256(NUMBER + CVV).toString("base64url")],
  ["SHA-256 of number and code, raw", sha256(NUMBER + CVV)],
  ["the code in JSON", `{"cvv":"${CVV}"}`],
  ["the code in JSON in a string", JSON.stringify(JSON.stringify({ cvv: CVV }))],
  [
    "the code in a form",
    new URLSearchParams({ "card[cvc]": CVV }).toString().replaceAll("%5B", "[").replaceAll("%5D", "]"),
  ],
])("a card is found as %s", (_how, haystack) => {
  expect(hitsIn(haystack)).not.toEqual([]);
});

test("what may be kept of a card is not reported, nor is another card", () => {
  for (const innocent of ["Visa 1486 12/2049", "453957******1486", "4539578763621487", sha256("1486").toString("hex")])
    expect(hitsIn(innocent)).toEqual([]);
});
