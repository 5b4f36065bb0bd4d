import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { delimiter, join } from "node:path";
import { cpuOfChildren } from "./cpu.ts";
import type { Stage } from "./lanes.ts";

export type Running = ReturnType<typeof startStage>;

/** A runner of tests removes on SIGTERM what its tests made; after this time its group is killed. */
const PATIENCE_MS = 90_000;
const path = [join(process.cwd(), "node_modules", ".bin"), process.env["PATH"]].join(delimiter);

/** Children are counted when they end, each by itself. */
let counted = cpuOfChildren();
function cpuSinceLastEnd(): number {
  const before = counted;
  counted = cpuOfChildren();
  return counted - before;
}

/** In a process group of its own, so that nothing of it is left when it is ended. */
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
      // Nothing of it is left.
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
