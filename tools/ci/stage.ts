import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { delimiter, join } from "node:path";
import { cpuOfChildren } from "./cpu.ts";
import type { Stage } from "./lanes.ts";

export type Running = ReturnType<typeof startStage>;

/** On SIGTERM a test runner removes what its tests created; after this time its process group is killed. */
const PATIENCE_MS = 90_000;
const path = [join(process.cwd(), "node_modules", ".bin"), process.env["PATH"]].join(delimiter);

/** The kernel adds a child's CPU time to its parent's counters when the child ends. */
let counted = cpuOfChildren();
function cpuSinceLastEnd(): number {
  const before = counted;
  counted = cpuOfChildren();
  return counted - before;
}

/** Runs in its own process group, so that ending the group leaves no process behind. */
export function startStage({ command, env, nice = 0 }: Stage, log: string, stack = "") {
  const file = openSync(log, "a");
  const child = spawn("nice", ["-n", String(nice), ...command], {
    env: { ...process.env, PATH: path, MOORAGE_STACK: stack, ...env },
    stdio: ["ignore", file, file],
    detached: true,
  });
  closeSync(file);
  const ended = new Promise<{ passed: boolean; cpu: number }>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      killGroup();
      resolve({ passed: code === 0, cpu: cpuSinceLastEnd() });
    });
  });
  const killGroup = (): void => {
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // The whole group has ended.
    }
  };
  return {
    ended,
    end(): void {
      child.kill("SIGTERM");
      setTimeout(killGroup, PATIENCE_MS).unref();
    },
  };
}
