import type { PrimaryTerm } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { highestTerm, primaryFirst } from "./terms.ts";

const primary = (node: string, term: number): PrimaryTerm => ({ node, term, reason: "fenced" });

test("the highest term counts, whoever knows it, and of one term the first that is named", () => {
  expect(highestTerm([undefined, primary("a", 2), primary("b", 3), primary("c", 3)])).toEqual(primary("b", 3));
  expect(highestTerm([undefined])).toBeUndefined();
});

test("the one that leads comes first, then the others by their ordinals", () => {
  const nodes = ["a", "b", "c"].map((id, ordinal) => ({ id, ordinal }));
  expect(primaryFirst(nodes.toReversed(), { node: "b" }).map(({ id }) => id)).toEqual(["b", "a", "c"]);
  expect(primaryFirst(nodes.toReversed(), undefined)).toEqual(nodes);
});
