import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { releaseIfWhole } from "@moorage/disk-image";
import { bareBash } from "../bare-bash.ts";
import { endGroup } from "../end-group.ts";

export class PipelineFailed extends Error {
  override readonly name = "PipelineFailed";
}

const keptOfErrors = 4096;

/**
 * Compresses and seals to a recipient, of which `recipient` is the shell's word. The lowest level takes a third of the CPU
 * of the usual one and, in one thread, a tenth of its memory, for less than a hundredth more bytes of a database: the host
 * has tenants.
 */
export const sealTo = (recipient: string): string => `nice zstd -q -1 --single-thread | nice age -r ${recipient}`;

/** What the programs read, if it is not a file of theirs. */
export type Input = { from: AsyncIterable<Buffer>; through: Transform };

/**
 * What a pipeline of programs writes, whole or not at all: the iteration throws if any of them failed. The programs hand
 * their bytes to each other through the kernel; only the last one's output comes here. `script` is our own text, and
 * what differs from call to call comes as `args` ($1, …). All of them end with `signal`, and with this process: a pipe
 * that nobody reads ends its writer. A chunk is there until the next one is asked for.
 */
export async function* outputOf(
  script: string,
  args: readonly string[],
  { signal, onLine, input }: { signal: AbortSignal; onLine?: (line: string) => boolean; input?: Input },
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  // A group of its own, so that one signal reaches all of them.
  const shell = spawn("bash", [...bareBash, "-c", script, "pipeline", ...args], {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exit = once(shell, "close") as Promise<[number | null]>;
  exit.catch(() => {}); // awaited below, if the reading gets that far
  const end = () => endGroup(shell);
  signal.addEventListener("abort", end, { once: true });
  const fed = input === undefined ? shell.stdin.end() : pipeline(input.from, input.through, shell.stdin);
  // What could not be fed must not be taken for a whole input: the programs end with it.
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
      // Gigabytes pass here, and would pile up to tens of megabytes.
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
