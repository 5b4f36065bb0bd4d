import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Checks } from "./checks.ts";
import type { ClientTarget } from "./client-cells.ts";
import { clientThings, environmentOf } from "./client-things.ts";

type Line = { check: string; ok: boolean; found: string; breaks?: string };

/** A client in another language: a program of ours around it, which reports one JSON line per check. */
export async function runProgram(
  name: string,
  [command, ...args]: readonly [string, ...string[]],
  { url, broken }: ClientTarget,
  { note }: Checks,
): Promise<void> {
  await using things = await clientThings(name);
  const child = spawn(command, args, { env: environmentOf(things, url), stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
  // A program that cannot be started is reported by `ended`, below.
  ended.catch(() => undefined);
  for await (const text of createInterface(child.stdout)) {
    const { check, ok, found, breaks } = JSON.parse(text) as Line;
    if (breaks !== undefined) broken.add(breaks);
    note(check, ok, ok ? "" : found);
  }
  const code = await ended;
  note("the program came to its end", code === 0, code === 0 ? "" : `exit code ${code}`);
}
