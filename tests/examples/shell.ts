import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Block, blocksOf } from "../kit/fenced-blocks.ts";

export type Variables = Record<string, string>;
const run = promisify(execFile);

/** Runs the commands in a new shell, which ends at the first refused request, and returns what it printed. */
export async function shell(variables: Variables) {
  const folder = await mkdtemp(join(tmpdir(), "moorage-tenants-"));
  const left: Variables = { ...variables };
  return {
    folder,
    left,
    async paste(code: string): Promise<string> {
      const script = `curl() { command curl --fail-with-body "$@"; }\nset -a\n${code}\nset +a\nenv -0 >variables`;
      const env = { PATH: process.env["PATH"], ...left };
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env, timeout: 900_000 });
      for (const pair of (await readFile(join(folder, "variables"), "utf8")).split("\0")) {
        const [name = ""] = pair.split("=", 1);
        if (/^[A-Za-z]\w*$/.test(name)) left[name] = pair.slice(name.length + 1);
      }
      return stdout;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

export const shellBlocks = (page: string): Block[] => blocksOf(page).filter(({ language }) => language === "sh");
