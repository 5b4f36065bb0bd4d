import { type ChildProcess, execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
}

/** Runs a program without a shell; its stderr becomes the error's message. */
export async function runCommand(program: string, args: readonly string[], input?: string | Buffer): Promise<string> {
  const running = run(program, args, { timeout: 120_000, maxBuffer: 1 << 28 });
  running.child.stdin?.on("error", () => {}); // the program died early; its exit code reports that
  running.child.stdin?.end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new CommandFailed(`${program} ${args[0] ?? ""}: ${stderr?.trim() || message}`, { cause: error });
  }
}

/** Kills a process that was started `detached`, with its whole process group. */
export function endGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it just ended by itself
  }
}

/**
 * A shell whose pipeline fails if any part of it fails, and which reads none of its user's files. Our pipes to it are
 * sockets, which bash takes for a remote login: it would run `~/.bashrc` first, and wait for whatever that waits for.
 */
export const bareBash = ["--norc", "-o", "pipefail"] as const;
