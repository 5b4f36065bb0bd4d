import { LONGEST_LABEL } from "@moorage/contract/operator";
import { expect, test } from "vitest";
import { freeLabel } from "./change-computes.ts";

const long = "x".repeat(LONGEST_LABEL);
test.each([
  ["web", [], "web"],
  ["web", ["db"], "web"],
  ["web", ["web"], "web-2"],
  ["web", ["web", "web-2", "web-4"], "web-3"],
  [long, [long], `${"x".repeat(LONGEST_LABEL - 2)}-2`],
])("%s beside %j becomes %s", (label, taken, expected) => {
  expect(freeLabel(label, new Set(taken))).toBe(expected);
});
