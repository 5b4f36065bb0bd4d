import { expect, test } from "vitest";
import { splits } from "./cluster-split.ts";

const probe = (prober: number, began: number, view?: string, took = 5) => ({
  ...{ prober, n: began, began },
  ...(view === undefined ? {} : { ended: began + took, view }),
});

test("a primary after another, in a view of its own, is no split; tries that were refused are none either", () => {
  expect(
    splits([probe(1, 0, "v:1"), probe(2, 0), probe(1, 100, "v:1"), probe(2, 7000, "v:2"), probe(1, 7000)]),
  ).toEqual([]);
});

test("two members that take writes in one view are a split", () => {
  expect(splits([probe(1, 0, "v:1"), probe(2, 9000, "v:1")])).toEqual(["in the view v:1 1 and 2 took writes"]);
});

test("two members that take writes at once are a split, whatever they call their views", () => {
  expect(splits([probe(1, 0, "v:1", 900), probe(2, 100, "w:1")])).toHaveLength(1);
});

test("a write that its primary heard of late is no split, if the one that followed it had that write", () => {
  const late = { ...probe(1, 90, "v:1", 900), seen: { 1: 80 } };

  expect(splits([late, { ...probe(2, 100, "v:2"), seen: { 1: 90 } }])).toEqual([]);
  expect(splits([late, { ...probe(2, 100, "v:2"), seen: { 1: 80 } }])).toHaveLength(1);
});

test("a write that the next primary lacks is a split, however much later that one took its own", () => {
  const [one, other] = [probe(1, 90, "v:1"), probe(2, 9000, "v:2")];

  expect(
    splits([
      { ...one, seen: {} },
      { ...other, seen: { 1: 80 } },
    ]),
  ).toHaveLength(1);
  expect(
    splits([
      { ...one, seen: {} },
      { ...other, seen: { 1: 90 } },
    ]),
  ).toEqual([]);
});

test("a write that was taken outside of the group is told", () => {
  expect(splits([probe(3, 0, "none")])).toEqual(["member 3 wrote in no group"]);
});

test("a member that takes writes as before, after another had, is a split", () => {
  expect(splits([probe(1, 0, "v:1"), probe(2, 1000, "v:2"), probe(1, 2000, "v:1")])).toEqual([
    "1 took writes as before after 2 had",
  ]);
  expect(splits([probe(1, 0, "v:1"), probe(2, 1000, "v:2"), probe(1, 2000, "v:3")])).toEqual([]);
});
