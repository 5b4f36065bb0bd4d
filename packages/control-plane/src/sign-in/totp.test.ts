import { Secret, TOTP } from "otpauth";
import { expect, test } from "vitest";
import { digitsOf, enrolmentOf, hashOfScratchCode, newScratchCodes, newSeed, stepOf } from "./totp.ts";

const now = new Date("2026-10-01T12:00:10Z");
const step = Math.floor(now.getTime() / 30_000);
const codeAt = (seed: string, seconds: number): string =>
  new TOTP({ secret: seed }).generate({ timestamp: now.getTime() + seconds * 1000 });

// RFC 6238, appendix B: the last six digits of its eight.
test("codes are those of the standard", () => {
  const seed = Secret.fromUTF8("12345678901234567890").base32;
  expect(stepOf(seed, "287082", new Date(59_000))).toBe(1);
  expect(stepOf(seed, "081804", new Date(1_111_111_109_000))).toBe(37_037_036);
});

test("a seed has 160 bits, and the QR code names issuer and user", () => {
  const seed = newSeed();
  expect(seed).toMatch(/^[A-Z2-7]{32}$/);
  const enrolled = new URL(enrolmentOf(seed, "baker"));
  expect(enrolled.protocol).toBe("otpauth:");
  expect(enrolled.searchParams.get("secret")).toBe(seed);
  expect(enrolled.searchParams.get("issuer")).toBe("Moorage");
});

test.each([
  [-60, undefined],
  [-30, step - 1],
  [0, step],
  [30, step + 1],
  [60, undefined],
])("a code of %i seconds from now belongs to step %s", (seconds, expected) => {
  const seed = newSeed();
  expect(stepOf(seed, codeAt(seed, seconds), now)).toBe(expected);
});

test("digits may be grouped; anything else is taken for a scratch code", () => {
  expect(digitsOf(" 123 456 ")).toBe("123456");
  expect(digitsOf("12345")).toBeUndefined();
  expect(digitsOf("ABCD-EFGH-IJKL-MNOP")).toBeUndefined();
});

test("eight scratch codes of 80 bits, recognised however they are typed", () => {
  const codes = newScratchCodes();
  expect(new Set(codes).size).toBe(8);
  for (const code of codes) expect(code).toMatch(/^(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  const [code = ""] = codes;
  expect(hashOfScratchCode(code.toLowerCase().replaceAll("-", " "))).toEqual(hashOfScratchCode(code));
});
