import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { releaseIfWhole } from "@moorage/disk-image";
import { bareBash, endGroup } from "../base/run-command.ts";

export class PipelineFailed extends Error {
  override readonly name = "PipelineFailed";
}

const keptOfErrors = 4096;

/**
 * Compresses and encrypts to an age recipient; `recipient` is a shell word. Level 1 takes a third of the default
 * level's CPU and, in one thread, a tenth of its memory, for less than 1 % more bytes of a database. The CPU is the
 * tenants'.
 */
export const sealTo = (recipient: string): string => `nice zstd -q -1 --single-thread | nice age -r ${recipient}`;

/** The pipeline's stdin, unless its script opens a file itself. */
export type Input = { from: AsyncIterable<Buffer>; through: Transform };

/**
 * The output of a shell pipeline; the iteration throws if any program failed. Bytes between the programs go through the
 * kernel; only the last one's output comes here. `script` is constant; whatever varies is passed as `args` ($1, …). All
 * programs end with `signal`, and with this process: a pipe without a reader ends its writer. A chunk is valid until
 * the next one is requested.
 */
export async function* outputOf(
  script: string,
  args: readonly string[],
  { signal, onLine, input }: { signal: AbortSignal; onLine?: (line: string) => boolean; input?: Input },
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  // A process group, so that one signal reaches all programs.
  const shell = spawn("bash", [...bareBash, "-c", script, "pipeline", ...args], {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exit = once(shell, "close") as Promise<[number | null]>;
  exit.catch(() => {}); // awaited below, unless reading fails first
  const end = () => endGroup(shell);
  signal.addEventListener("abort", end, { once: true });
  const fed = input === undefined ? shell.stdin.end() : pipeline(input.from, input.through, shell.stdin);
  // A truncated input must not pass for a complete one: a failed feed ends the programs.
  if (fed instanceof Promise) fed.catch(end);
  let errors = "";
  let rest = "";
  shell.stderr.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(0, keptOfErrors);
    for (const line of lines) if (!onLine?.(line) && errors.length < keptOfErrors) errors += `${line}\n`;
  });
  try {
    for await (const chunk of shell.stdout) {
      yield chunk as Buffer;
      // Gigabytes pass here; without an early release tens of megabytes would pile up.
      releaseIfWhole(chunk as Buffer);
    }
    await fed;
    const [code] = await exit;
    signal.throwIfAborted();
    if (code !== 0)
      throw new PipelineFailed((errors + rest).trim().slice(0, 500) || `The programs ended with ${code}.`);
  } finally {
    end();
    signal.removeEventListener("abort", end);
    await exit.catch(() => {});
  }
}
