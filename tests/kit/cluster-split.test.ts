import { expect, test } from "vitest";
import { splits } from "./cluster-split.ts";

const probe = (prober: number, began: number, view?: string, took = 5) => ({
  prober,
  n: began,
  began,
  ...(view === undefined ? {} : { ended: began + took, view }),
});

test("one primary after another, each in its own view, is no split, and neither are refused tries", () => {
  expect(
    splits([probe(1, 0, "v:1"), probe(2, 0), probe(1, 100, "v:1"), probe(2, 7000, "v:2"), probe(1, 7000)]),
  ).toEqual([]);
});

test("two members that accept writes in one view are a split", () => {
  expect(splits([probe(1, 0, "v:1"), probe(2, 9000, "v:1")])).toEqual(["in the view v:1 1 and 2 took writes"]);
});

test("two members that accept writes at once are a split, whatever their views", () => {
  expect(splits([probe(1, 0, "v:1", 900), probe(2, 100, "w:1")])).toHaveLength(1);
});

test("a write acknowledged late is no split if the next primary had it", () => {
  const late = { ...probe(1, 90, "v:1", 900), seen: { 1: 80 } };

  expect(splits([late, { ...probe(2, 100, "v:2"), seen: { 1: 90 } }])).toEqual([]);
  expect(splits([late, { ...probe(2, 100, "v:2"), seen: { 1: 80 } }])).toHaveLength(1);
});

test("a write that the next primary lacks is a split, however much later that one accepted its own", () => {
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

test("a write that was accepted outside of the group is reported", () => {
  expect(splits([probe(3, 0, "none")])).toEqual(["member 3 wrote in no group"]);
});

test("a member that accepts writes in its old view after another did is a split", () => {
  expect(splits([probe(1, 0, "v:1"), probe(2, 1000, "v:2"), probe(1, 2000, "v:1")])).toEqual([
    "1 took writes as before after 2 had",
  ]);
  expect(splits([probe(1, 0, "v:1"), probe(2, 1000, "v:2"), probe(1, 2000, "v:3")])).toEqual([]);
});
