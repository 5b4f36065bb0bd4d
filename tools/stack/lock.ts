import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { machineDir } from "./paths.ts";

/**
 * A lock for what all stacks and checkouts of the machine share. `flock` holds the lock while its standard input is
 * open, so a killed process leaves no lock behind.
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
