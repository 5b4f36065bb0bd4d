import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { machineDir } from "./paths.ts";

/**
 * For what all stacks and checkouts of the machine share. `flock` holds the lock for as long as its standard input is
 * open, so a process that is killed leaves none behind.
 */
export async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  await mkdir(machineDir, { recursive: true });
  const file = join(machineDir, `${name}.lock`);
  const holder = spawn("flock", [file, "sh", "-c", "echo; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(holder, "close");
  try {
    await Promise.race([
      once(holder.stdout, "data"),
      ended.then(() => Promise.reject(new Error(`flock does not lock ${file}.`))),
    ]);
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
