import type { PrimaryTerm } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { highestTerm, primaryFirst } from "./primary-store.ts";

const primary = (node: string, term: number): PrimaryTerm => ({ node, term, reason: "fenced" });

test("the highest term counts, and of equal terms the first in the list", () => {
  expect(highestTerm([undefined, primary("a", 2), primary("b", 3), primary("c", 3)])).toEqual(primary("b", 3));
  expect(highestTerm([undefined])).toBeUndefined();
});

test("the primary comes first, then the others by their ordinals", () => {
  const nodes = ["a", "b", "c"].map((id, ordinal) => ({ id, ordinal }));
  expect(primaryFirst(nodes.toReversed(), { node: "b" }).map(({ id }) => id)).toEqual(["b", "a", "c"]);
  expect(primaryFirst(nodes.toReversed(), undefined)).toEqual(nodes);
});
