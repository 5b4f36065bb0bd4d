import { expect, test } from "vitest";
import { isNewer } from "./node-spec.ts";

test.each([
  [{ epoch: 1, generation: 2 }, { epoch: 1, generation: 1 }, true],
  [{ epoch: 2, generation: 1 }, { epoch: 1, generation: 9 }, true],
  [{ epoch: 1, generation: 1 }, { epoch: 1, generation: 1 }, false],
  [{ epoch: 1, generation: 9 }, { epoch: 2, generation: 1 }, false],
])("%j is newer than %j: %s", (a, b, newer) => {
  expect(isNewer(a, b)).toBe(newer);
});
