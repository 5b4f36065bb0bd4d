import { expect, test } from "vitest";
import { isKeyStillKnown, microsOf, nextTry } from "./charge.ts";

test.each([
  ["5", 5_000_000],
  ["$5.00", 5_000_000],
  ["120.5", 120_500_000],
  ["0.29", 290_000],
  ["1.15", 1_150_000],
  ["4.35", 4_350_000],
  ["1001.10", 1_001_100_000],
  ["999999999.99", 999_999_999_990_000],
])("%s dollars are %i micro-dollars, to the cent", (usd, micros) => {
  expect(microsOf(usd)).toBe(micros);
});

const now = new Date("2027-01-01T00:00:00Z");
const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);

test("an unknown outcome is checked after doubling waits, and at least four times an hour", () => {
  const waits = [1, 2, 3, 4, 7, 8, 30].map((attempts) => (nextTry(attempts, now).getTime() - now.getTime()) / 1000);
  expect(waits).toEqual([10, 20, 40, 80, 640, 900, 900]);
});

test("a key is used well within the day for which the provider remembers it", () => {
  expect(isKeyStillKnown(now, after(20 * 3600 - 1))).toBe(true);
  expect(isKeyStillKnown(now, after(20 * 3600))).toBe(false);
});
