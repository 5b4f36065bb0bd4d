import { expect, test } from "vitest";
import { changeCommand } from "./watched-cluster.ts";

test("a proxy receives only what changed, servers that go down first", () => {
  const before = new Map([
    ["primary/m0", false],
    ["primary/m1", true],
    ["primary/m2", false],
  ]);
  const after = new Map(before).set("primary/m0", true).set("primary/m1", false);
  expect(changeCommand(before, after)).toBe("set server primary/m1 agent down; set server primary/m0 agent up");
  expect(changeCommand(after, after)).toBe("");
});
