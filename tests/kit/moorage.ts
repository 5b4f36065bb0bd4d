import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { node, repo } from "../../tools/stack/paths.ts";
import { hostNumbers } from "./host.ts";
import { stackEnv } from "./stack-env.ts";

/**
 * A host deletes at most five databases in ten minutes on its own; the drills need the operator's signature for more.
 */
export async function allowDeletions(count: number): Promise<void> {
  for (const n of hostNumbers())
    await moorage("host", "allow-deletions", `host-${n}`, "--count", String(count), "--minutes", "240");
}

/** `moorage admin`, as an operator runs it. */
export async function moorage(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    node,
    [join(repo, "packages/cli/src/bin/moorage.ts"), "admin", ...args],
    {
      env: { ...process.env, ...stackEnv() },
    },
  );
  return stdout;
}
