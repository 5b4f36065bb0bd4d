import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@moorage/testkit/until.ts";
import { repo } from "../../tools/stack/paths.ts";

type Given = { input?: string; env?: Record<string, string> };
type Ended = { code: number | null; stdout: string; stderr: string };
/** A running command: its output so far, and how it ends. */
export type Running = { stderr: () => string; ended: Promise<Ended> };

/** A person's shell: a separate home, no display, no settings of the stack, and `bin/moorage`. */
export function newShell() {
  const home = mkdtempSync(join(tmpdir(), "moorage-shell-"));
  const start = (args: readonly string[], { input = "", env = {} }: Given = {}): Running => {
    const child = spawn(join(repo, "bin/moorage"), args, {
      env: { HOME: home, PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const ended: Ended = { code: null, stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => (ended.stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (ended.stderr += chunk.toString()));
    child.stdin.end(input);
    return {
      stderr: () => ended.stderr,
      ended: new Promise((resolve, reject) => {
        child.on("error", reject);
        child.on("close", (code) => resolve({ ...ended, code }));
      }),
    };
  };
  return {
    home,
    start,
    run: (...args: string[]): Promise<Ended> => start(args).ended,
    /** For `BROWSER`: opens nothing, and records the URL. */
    browser() {
      const [program, file] = [join(home, "browser"), join(home, "opened")];
      rmSync(file, { force: true });
      writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > "${file}.new" && mv "${file}.new" "${file}"\n`);
      chmodSync(program, 0o755);
      return {
        env: { BROWSER: program },
        opened: () =>
          until("the command line has opened a browser", 60, async () =>
            existsSync(file) ? readFileSync(file, "utf8") : undefined,
          ),
      };
    },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}
export type Shell = ReturnType<typeof newShell>;
