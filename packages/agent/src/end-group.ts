import type { ChildProcess } from "node:child_process";

/** Ends a process that leads a group of its own (`detached`), and all that it has begun. */
export function endGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it ended by itself, just now
  }
}
