import { expect, test } from "vitest";
import { longestGap, percentile, timeToRecover, totalGap } from "./cluster-gaps.ts";

test("the outage is the longest gap, not a write that was acknowledged just after the fault", () => {
  const accepted = [0, 100, 205, 7300, 7310];
  expect(timeToRecover(accepted, 200)).toBe(7100);
  expect(longestGap(accepted, 200)).toBe(7095);
});

test("if writes are never accepted again, the outage has no end", () => {
  expect(timeToRecover([0, 100], 200)).toBe(Number.POSITIVE_INFINITY);
});

test("the usual time between two writes is no gap, and earlier gaps are not counted", () => {
  expect(totalGap([0, 900, 1000, 1100, 1500, 3500, 4100], 1000)).toBe(2600);
});

test("a percentile is one of the values", () => {
  expect([percentile([5, 1, 3], 50), percentile([5, 1, 3], 95), percentile([], 50)]).toEqual([3, 5, Number.NaN]);
});
