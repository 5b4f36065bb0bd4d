import type { ChildProcess } from "node:child_process";

/** Kills a process that was started `detached`, with its whole process group. */
export function endGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it just ended by itself
  }
}
