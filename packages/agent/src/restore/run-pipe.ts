import { spawn } from "node:child_process";
import { bareBash } from "../bare-bash.ts";
import { endGroup } from "../end-group.ts";

/** A shell pipeline as one process: its own group, so that all of it can be ended, and one exit code for all of it. */
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
  // Awaited later, and then it tells; until then it must not count as unhandled.
  ended.catch(() => {});
  return { stdin: child.stdin, stdout: child.stdout, ended, end };
}
export type Pipe = ReturnType<typeof runPipe>;

export class PipeFailed extends Error {
  override readonly name = "PipeFailed";
}

/** Whose failure it was: a pipe that broke under a writer is told by the one who broke it. */
export async function settlePipe(pipe: Pipe, writing: Promise<unknown>): Promise<void> {
  const [wrote, ended] = await Promise.allSettled([writing, pipe.ended]);
  const broken = wrote.status === "rejected" && isBrokenPipe(wrote.reason);
  if (wrote.status === "rejected" && !broken) throw wrote.reason;
  if (ended.status === "rejected") throw ended.reason;
  if (broken) throw new PipeFailed("it ended before all was read");
}

const isBrokenPipe = (error: unknown): boolean =>
  ["EPIPE", "ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"].includes(
    (error as NodeJS.ErrnoException).code ?? "",
  );

/**
 * Decrypts what follows the identity on stdin. The identity is its first line: it is in nobody's arguments and on no
 * disk. It reaches age by a pipe that has a name only inside of this shell.
 */
export const decrypt = `{ IFS= read -r identity; printf '%s\\n' "$identity" | age --decrypt -i /dev/fd/4 4<&0 <&3; } 3<&0 | zstd -dcq`;
