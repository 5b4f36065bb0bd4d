import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const exec = promisify(execFile);

type Options = { env?: Record<string, string>; cwd?: string };

/** Runs a program to its end and returns its output; if it fails, the error contains its messages. */
export async function run(program: string, args: readonly string[], options: Options = {}): Promise<string> {
  try {
    const { stdout } = await exec(program, [...args], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new Error(`${program} ${args.join(" ")} failed: ${output}`, { cause: error });
  }
}

/** For cleaning up after a crash: something that is already gone is no error. */
export const attempt = (program: string, args: readonly string[], options: Options = {}): Promise<string> =>
  run(program, args, options).catch(() => "");

export function runWithInput(program: string, args: readonly string[], input: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(program, [...args], { stdio: ["pipe", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.on("error", reject);
  child.on("close", (code) => {
    if (code === 0) resolve();
    else reject(new Error(`${program} ${args.join(" ")} failed: ${output.trim()}\n${input}`));
  });
  child.stdin.end(input);
  return promise;
}
