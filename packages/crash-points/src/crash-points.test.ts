import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Fault } from "./crash-points.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "moorage-crash-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const program = `
  import { writeSync } from "node:fs";
  import { announceSteps, step } from ${JSON.stringify(join(import.meta.dirname, "crash-points.ts"))};
  announceSteps("child", ["z.last", "a.first"]);
  const work = async () => writeSync(1, "worked ");
  await step("a.first", work).catch((error) => writeSync(1, error.name + " "));
  writeSync(1, "went on");
`;

/** A process of its own: it may die. */
function runChild(environment: Record<string, string> = { MOORAGE_CRASH_DIR: folder }) {
  const { signal, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    env: { PATH: process.env["PATH"], ...environment },
    encoding: "utf8",
  });
  return { signal, stdout };
}

const arm = (fault: Fault): void => writeFileSync(join(folder, "armed"), JSON.stringify(fault));

test.each([
  { mode: "kill-before", signal: "SIGKILL", stdout: "" },
  { mode: "kill-after", signal: "SIGKILL", stdout: "worked " },
  { mode: "repeat", signal: null, stdout: "worked worked went on" },
  { mode: "timeout", signal: null, stdout: "worked InjectedTimeout went on" },
] as const)("$mode happens at its step, once, and is written down", ({ mode, signal, stdout }) => {
  arm({ step: "a.first", mode });

  expect(runChild()).toEqual({ signal, stdout });
  expect(JSON.parse(readFileSync(join(folder, "fired"), "utf8"))).toMatchObject({ step: "a.first", mode });

  expect(runChild()).toEqual({ signal: null, stdout: "worked went on" });
});

test("a fault for another step stays armed", () => {
  arm({ step: "z.last", mode: "kill-before" });

  expect(runChild()).toEqual({ signal: null, stdout: "worked went on" });
  expect(existsSync(join(folder, "armed"))).toBe(true);
  expect(existsSync(join(folder, "fired"))).toBe(false);
});

test("without a folder a step is a plain call, and nothing is announced", () => {
  arm({ step: "a.first", mode: "kill-before" });

  expect(runChild({})).toEqual({ signal: null, stdout: "worked went on" });
  expect(existsSync(join(folder, "steps"))).toBe(false);
});

test("a process announces its steps, sorted", () => {
  runChild();

  expect(readFileSync(join(folder, "steps", "child.json"), "utf8")).toBe('["a.first","z.last"]');
});
