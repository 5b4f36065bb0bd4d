import { expect, test } from "vitest";
import { bothWays, CONTROL_PLANE, sureMajority } from "./cluster-cuts.ts";

test.each([
  ["nothing is cut between hosts", bothWays(1, CONTROL_PLANE), [1, 2, 3]],
  ["one is cut off from both others", [...bothWays(1, 2), ...bothWays(3, 1)], [2, 3]],
  ["one link is cut", bothWays(1, 2), undefined],
  ["each is alone", [...bothWays(1, 2), ...bothWays(3, 1), ...bothWays(2, 3)], undefined],
  [
    "packets to one are dropped, those from it are not",
    [
      { from: 2, to: 1 },
      { from: 3, to: 1 },
    ],
    undefined,
  ],
])("which hosts continue when %s", (_, drops, expected) => {
  expect(sureMajority(drops, [1, 2, 3])).toEqual(expected);
});
