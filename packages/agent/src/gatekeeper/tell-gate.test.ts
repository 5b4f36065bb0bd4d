import { expect, test } from "vitest";
import { changeCommand } from "./tell-gate.ts";

test("a gate is told what changed and nothing else, who leads no more before who leads now", () => {
  const before = new Map([
    ["lead/m0", false],
    ["lead/m1", true],
    ["lead/m2", false],
  ]);
  const after = new Map(before).set("lead/m0", true).set("lead/m1", false);
  expect(changeCommand(before, after)).toBe("set server lead/m1 agent down; set server lead/m0 agent up");
  expect(changeCommand(after, after)).toBe("");
});
