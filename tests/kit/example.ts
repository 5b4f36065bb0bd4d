import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { enginesDir, inParts, node, repo } from "../../tools/stack/paths.ts";
import { inside, type ClientMachine } from "./client.ts";
import type { Block } from "./fenced-blocks.ts";

const run = promisify(execFile);
const PATIENCE_MS = 600_000;

/** How a tenant runs a block of each language, and the files that it needs. */
type Language = { file: string; command: string[]; prepare?: (folder: string) => Promise<unknown> };
const languages: Record<string, Language> = {
  sh: {
    file: "example.sh",
    command: ["sh", "example.sh"],
    prepare: (folder) => symlink(join(enginesDir, "mysql", "mysql-client"), join(folder, "mysql")),
  },
  js: {
    file: "example.mjs",
    command: [node, "example.mjs"],
    prepare: (folder) => symlink(join(repo, "node_modules"), join(folder, "node_modules")),
  },
  python: { file: "example.py", command: [inParts("python", "drivers", "bin", "python"), "example.py"] },
  go: { file: "main.go", command: ["./example"], prepare: buildGo },
  php: { file: "example.php", command: ["php", "example.php"] },
};

async function buildGo(folder: string): Promise<void> {
  for (const part of ["go.mod", "go.sum", "vendor"])
    await cp(inParts("go-driver", part), join(folder, part), { recursive: true });
  const settings = { GOCACHE: inParts("go-driver", "cache"), GOFLAGS: "-mod=vendor", GOPROXY: "off" };
  await run("go", ["build", "-o", "example", "."], { cwd: folder, env: { ...process.env, ...settings } });
}

export type Outcome = { ended: "well" | "badly"; output: string };

/** A block of a document as a program in a temporary folder. */
export async function exampleOf({ language, code }: Block) {
  const { file, command, prepare } = languages[language] ?? unknown(language);
  const folder = await mkdtemp(join(tmpdir(), "moorage-example-"));
  await writeFile(join(folder, file), code);
  await prepare?.(folder);

  /** `hosts`: fixed addresses of hostnames, which take precedence over DNS. */
  async function runAt(machine: ClientMachine, settings: Record<string, string>, hosts = ""): Promise<Outcome> {
    await writeFile(join(folder, "hosts"), hosts);
    // `ip netns exec` creates a mount namespace too, so this hides the machine's file from the example alone.
    const there = inside(machine, "sh", "-c", 'mount --bind hosts /etc/hosts && exec "$@"', "sh", ...command);
    const env = { HOME: folder, PATH: [folder, process.env["PATH"]].join(delimiter), ...settings };
    return run("ip", there, { cwd: folder, env, timeout: PATIENCE_MS }).then(
      ({ stdout }) => ({ ended: "well", output: stdout.trim() }),
      (error: Error & { stdout?: string; stderr?: string }) => ({
        ended: "badly",
        output: `${error.stdout ?? ""}${error.stderr ?? ""}` || String(error),
      }),
    );
  }
  return { runAt, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const unknown = (language: string): never => {
  throw new Error(`Nobody runs examples in ${language} yet.`);
};
