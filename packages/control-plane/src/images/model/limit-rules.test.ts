import { expect, test } from "vitest";
import { type AddedImages, limitFaults, limitsOf } from "./limits.ts";
import { texts } from "./texts.ts";

const limits = { images: 25, totalMb: 1000, rawMb: 600 };
const one: AddedImages = { addImages: 1, addMb: 1, rawMb: 0 };

test("the last place can be used, and no more", () => {
  expect(limitFaults(limits, { images: 24, totalMb: 0 }, one)).toEqual([]);
  expect(limitFaults(limits, { images: 25, totalMb: 0 }, one)).toEqual([texts.countLimit({ max: 25, count: 26 })]);
});

test("exactly the total fits, and one MB more does not", () => {
  const settling = { addImages: 0, addMb: 500, rawMb: 500 };
  expect(limitFaults(limits, { images: 3, totalMb: 500 }, settling)).toEqual([]);
  expect(limitFaults(limits, { images: 3, totalMb: 501 }, settling)).toEqual([
    texts.totalSizeLimit({ maxMb: 1000, mb: 1001 }),
  ]);
});

test("an image of exactly the largest size is accepted, and one of one MB more is not", () => {
  expect(limitFaults(limits, { images: 0, totalMb: 0 }, { addImages: 1, addMb: 600, rawMb: 600 })).toEqual([]);
  expect(limitFaults(limits, { images: 0, totalMb: 0 }, { addImages: 1, addMb: 601, rawMb: 601 })).toEqual([
    texts.sizeLimit({ maxMb: 600, mb: 601 }),
  ]);
});

test("an image that was begun before its limit was lowered still completes", () => {
  expect(
    limitFaults({ ...limits, images: 1 }, { images: 3, totalMb: 0 }, { addImages: 0, addMb: 5, rawMb: 5 }),
  ).toEqual([]);
});

test("an account's own limit counts where it has one, also if it is zero", () => {
  const defaults = { imagesPerAccount: 25, totalMb: 1000, rawMb: 600 };
  expect(limitsOf(undefined, defaults)).toEqual(limits);
  expect(limitsOf({ images: 0, total_mb: null, raw_mb: 9 }, defaults)).toEqual({ images: 0, totalMb: 1000, rawMb: 9 });
});
