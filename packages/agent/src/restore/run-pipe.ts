import { spawn } from "node:child_process";
import { bareBash, endGroup } from "../base/run-command.ts";

/** Runs a shell pipeline in a process group of its own, so that all of it can be ended; it has one exit code. */
export function runPipe(script: string, args: readonly string[], signal: AbortSignal) {
  const child = spawn("bash", [...bareBash, "-c", script, "bash", ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const end = (): void => endGroup(child);
  signal.addEventListener("abort", end, { once: true });
  let errorOutput = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errorOutput = (errorOutput + text).slice(-2000);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, killedBy) => {
      signal.removeEventListener("abort", end);
      if (code === 0) resolve();
      else reject(new PipeFailed(errorOutput.trim() || `it ended with ${code ?? killedBy}`));
    });
  });
  // Thrown when awaited later; until then it must not count as unhandled.
  ended.catch(() => {});
  return { stdin: child.stdin, stdout: child.stdout, ended, end };
}
export type Pipe = ReturnType<typeof runPipe>;

export class PipeFailed extends Error {
  override readonly name = "PipeFailed";
}

/** Throws the root cause: if the pipe broke under the writer, the error of the program that broke it. */
export async function settlePipe(pipe: Pipe, writing: Promise<unknown>): Promise<void> {
  const [wrote, ended] = await Promise.allSettled([writing, pipe.ended]);
  const broken = wrote.status === "rejected" && isBrokenPipe(wrote.reason);
  if (wrote.status === "rejected" && !broken) throw wrote.reason;
  if (ended.status === "rejected") throw ended.reason;
  if (broken) throw new PipeFailed("it ended before it had read its whole input");
}

const isBrokenPipe = (error: unknown): boolean =>
  ["EPIPE", "ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"].includes(
    (error as NodeJS.ErrnoException).code ?? "",
  );

/**
 * Decrypts stdin, whose first line is the age identity: the identity is on no disk and in no process's arguments. It
 * reaches age through a pipe that exists only inside this shell.
 */
export const decrypt = `{ IFS= read -r identity; printf '%s\\n' "$identity" | age --decrypt -i /dev/fd/4 4<&0 <&3; } 3<&0 | zstd -dcq`;
