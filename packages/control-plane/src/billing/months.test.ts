import { expect, test } from "vitest";
import { endOf, monthAfter, monthOf, monthsOf } from "./months.ts";

test("a time belongs to its month in UTC", () => {
  expect(monthOf(new Date("2026-12-31T23:59:59.999Z"))).toBe("2026-12-01");
  expect(monthOf(new Date("2027-01-01T00:00:00Z"))).toBe("2027-01-01");
  expect(monthAfter("2026-12-01")).toBe("2027-01-01");
  expect(endOf("2028-02-01")).toEqual(new Date("2028-03-01T00:00:00Z"));
});

test("a span is split into months: the first is whole, the last ends with the span, and none is empty", () => {
  const bounds = (since: string, until: string): string[] =>
    monthsOf(new Date(since), new Date(until)).map(
      ({ month, period }) => `${month} ${period.from.toISOString()} ${period.until.toISOString()}`,
    );

  expect(bounds("2026-11-15T12:00:00Z", "2027-01-03T05:30:00Z")).toEqual([
    "2026-11-01 2026-11-01T00:00:00.000Z 2026-12-01T00:00:00.000Z",
    "2026-12-01 2026-12-01T00:00:00.000Z 2027-01-01T00:00:00.000Z",
    "2027-01-01 2027-01-01T00:00:00.000Z 2027-01-03T05:30:00.000Z",
  ]);
  expect(bounds("2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z")).toEqual([]);
  expect(bounds("2027-01-01T00:00:00Z", "2026-12-01T00:00:00Z")).toEqual([]);
});
