import { expect, test } from "vitest";
import { wasSetBack } from "./poll-desired.ts";

test.each([
  ["the same", { epoch: 2, revision: 5 }, false],
  ["behind", { epoch: 2, revision: 4 }, false],
  ["an earlier epoch, whatever its revision", { epoch: 1, revision: 99 }, false],
  ["new", { epoch: 0, revision: 0 }, false],
  ["a later revision", { epoch: 2, revision: 6 }, true],
  ["a later epoch", { epoch: 3, revision: 0 }, true],
])("a host that is %s", (_name, theirs, setBack) => {
  expect(wasSetBack({ epoch: 2, revision: 5 }, theirs)).toBe(setBack);
});
