import { Dollars } from "@moorage/contract/operator";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toDollars, toMicros } from "#platform/money.ts";

test.each([
  ["0", 0, "0.00"],
  ["15", 15_000_000, "15.00"],
  ["0.0225", 22_500, "0.0225"],
  ["0.1", 100_000, "0.10"],
  ["0.000001", 1, "0.000001"],
  ["9999999.999999", 9_999_999_999_999, "9999999.999999"],
])("%s dollars are %d micro-dollars, shown as %s", (dollars, micros, shown) => {
  expect(toMicros(dollars)).toBe(micros);
  expect(toDollars(micros)).toBe(shown);
});

test("every price is read back as it was stored", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9_999_999_999_999 }), (micros) => {
      const dollars = toDollars(micros);
      expect(Dollars.parse(dollars)).toBe(dollars);
      expect(toMicros(dollars)).toBe(micros);
    }),
  );
});

test.each(["", "-1", "1e3", ".5", "1.", "1,50", "0.0000001", "12345678", "$1", " 1", "1\n"])(
  "%j is not a valid price",
  (text) => {
    expect(Dollars.safeParse(text).success).toBe(false);
  },
);
