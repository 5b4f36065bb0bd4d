import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ending, interleave, secondsOf } from "./longest-first.ts";

const root = join(import.meta.dirname, "..");
const named = Object.keys(secondsOf).map((path) => `${path}${ending}`);

test("every file that has a time is there", () => {
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("every file is run once, the longest of both kinds first", () => {
  const others = ["packages/agent/src/short", "packages/control-plane/src/short"].map((path) => `${path}${ending}`);
  const ordered = interleave([...others, ...named]);
  expect(ordered.toSorted()).toEqual([...others, ...named].toSorted());
  expect(ordered.slice(0, 2).map((path) => path.split("/")[1])).toEqual(["agent", "control-plane"]);
  expect(ordered.slice(-2).toSorted()).toEqual(others);
});
