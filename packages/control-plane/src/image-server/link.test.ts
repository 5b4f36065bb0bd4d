import { expect, test } from "vitest";
import { type Judged, judgeLink, type Link, signLink } from "./link.ts";
import { texts } from "./texts.ts";

const KEY = "a key that is long enough for this";
const UNTIL = 2_000_000_000;
const BEFORE = new Date((UNTIL - 1) * 1000);
const link: Link = { imageId: 12, format: "raw", region: "eu-west", until: UNTIL };

function judge(address: string, now = BEFORE): Judged {
  const { pathname, searchParams } = new URL(address);
  return judgeLink(KEY, pathname.split("/").at(-1) ?? "", Object.fromEntries(searchParams), now);
}
const signed = (change: Partial<Link> = {}, key = KEY): string =>
  signLink({ url: "https://image-server.test/", key }, { ...link, ...change });

test("an address that was signed here names its image, format and end", () => {
  expect(judge(signed())).toEqual({ kind: "good", link });
  expect(judge(signed({ region: undefined, format: "gzip" }))).toEqual({
    kind: "good",
    link: { imageId: 12, format: "gzip", until: UNTIL },
  });
  expect(signed()).toMatch(/^https:\/\/image-server\.test\/images\/12\?/);
});

test.each([
  ["another image", (address: string) => address.replace("/images/12?", "/images/13?")],
  ["another format", (address: string) => address.replace("format=raw", "format=gzip")],
  ["a later end", (address: string) => address.replace(`until=${UNTIL}`, `until=${UNTIL + 1}`)],
  ["another region", (address: string) => address.replace("region=eu-west", "region=eu-east")],
  ["no region", (address: string) => address.replace("region=eu-west&", "")],
  ["one more word", (address: string) => `${address}&range=all`],
  ["no signature", (address: string) => address.replace(/&signature=.*/, "")],
  ["an empty signature", (address: string) => address.replace(/signature=.*/, "signature=")],
  [
    "a changed signature",
    (address: string) => address.replace(/signature=(.)/, (_, c) => `signature=${c === "A" ? "B" : "A"}`),
  ],
  ["half a signature", (address: string) => address.slice(0, -20)],
  ["no number", (address: string) => address.replace("/images/12?", "/images/twelve?")],
])("an address with %s is refused without a reason", (_, change) => {
  expect(judge(change(signed()))).toEqual({ kind: "refused", reason: texts.linkSignatureInvalid() });
});

test("an address signed by another key is refused", () => {
  expect(judge(signed({}, `${KEY}!`))).toMatchObject({ kind: "refused" });
});

test("an address expires in the second that it names, and the refusal names the expiry", () => {
  expect(judge(signed(), new Date(UNTIL * 1000))).toEqual({
    kind: "refused",
    reason: texts.linkExpired({ at: new Date("2033-05-18T03:33:20Z") }),
  });
});
