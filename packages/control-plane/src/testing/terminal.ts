import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { moorage, type Terminal } from "@moorage/cli";

export type Typed = { code: number; stdout: string; stderr: string; progress: string[] };

/** A terminal with its own home directory. A line is split at its spaces. */
export function terminalWith(env: Record<string, string>) {
  const home = mkdtempSync(join(tmpdir(), "moorage-home-"));
  const type = async (
    line: string | readonly string[],
    input = "",
    more: Record<string, string> = {},
    onStderr: (text: string) => void = () => {},
  ): Promise<Typed> => {
    const typed: Typed = { code: 0, stdout: "", stderr: "", progress: [] };
    const terminal: Terminal = {
      env: { HOME: home, PATH: process.env["PATH"], MOORAGE_POLL_MS: "20", ...env, ...more },
      print: (text) => (typed.stdout += `${text}\n`),
      printError: (text) => {
        typed.stderr += `${text}\n`;
        onStderr(text);
      },
      write: (bytes) => (typed.stdout += Buffer.from(bytes).toString()),
      progress: (text) => typed.progress.push(text ?? ""),
      input: async () => input,
      secret: async () => input,
      prompt: async (question) => {
        typed.stderr += `${question}\n`;
        return input === "" ? undefined : input;
      },
    };
    typed.code = await moorage(typeof line === "string" ? line.split(" ").filter(Boolean) : line, terminal);
    return typed;
  };
  return {
    home,
    type,
    json: async <T>(line: string): Promise<T> => JSON.parse((await type(`${line} --json`)).stdout) as T,
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}
export type TestTerminal = ReturnType<typeof terminalWith>;
