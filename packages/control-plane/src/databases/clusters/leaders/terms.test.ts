import type { Leader } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { highestTerm, leaderFirst } from "./terms.ts";

const leader = (node: string, term: number): Leader => ({ node, term, over: "fence" });

test("the highest term counts, whoever knows it, and of one term the first that is named", () => {
  expect(highestTerm([undefined, leader("a", 2), leader("b", 3), leader("c", 3)])).toEqual(leader("b", 3));
  expect(highestTerm([undefined])).toBeUndefined();
});

test("the one that leads comes first, then the others by their ordinals", () => {
  const nodes = ["a", "b", "c"].map((id, ordinal) => ({ id, ordinal }));
  expect(leaderFirst(nodes.toReversed(), { node: "b" }).map(({ id }) => id)).toEqual(["b", "a", "c"]);
  expect(leaderFirst(nodes.toReversed(), undefined)).toEqual(nodes);
});
