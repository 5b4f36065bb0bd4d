import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { envFile } from "../../tools/stack/env-file.ts";
import { repo } from "../../tools/stack/paths.ts";
import { blocksOf } from "../kit/fenced-blocks.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { tenant } from "../kit/tenant.ts";

const alice = tenant();
const FIVE_MINUTES_MS = 300_000;

/** A login shell's PATH on a machine whose own Node.js cannot run TypeScript. */
async function pathOfCleanShell(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "moorage-old-node-"));
  await writeFile(join(folder, "node"), "#!/bin/sh\necho 'an old node was started' >&2\nexit 9\n", { mode: 0o755 });
  return `${folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
}

/** The README's label, which an earlier run or a reader may have left behind. */
async function removeOrders(): Promise<void> {
  const found = (await alice.list()).find(({ label }) => label === "orders");
  if (found === undefined) return;
  await alice.deleteSurely(found.id);
  await alice.untilEvent(found.id, "database_delete", 120);
}

beforeAll(async () => {
  await allowDeletions(100);
  await removeOrders();
});
afterAll(removeOrders);

test("the README's commands lead from a running stack to SELECT 1 in five minutes", async () => {
  const blocks = blocksOf("README.md").filter(({ heading }) => heading === "Five minutes to a database");
  // The document shows the unnamed stack.
  const script = blocks
    .map(({ code }) => code)
    .join("")
    .replace(". .stack/env", `. '${envFile}'`);

  const started = Date.now();
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: repo,
    env: { PATH: await pathOfCleanShell() },
    timeout: FIVE_MINUTES_MS,
  });
  console.log(`from a running stack to SELECT 1: ${((Date.now() - started) / 1000).toFixed(1)} s`);

  expect(stdout).toMatch(/^label +orders$/m);
  expect(stdout).toMatch(/^status +active$/m);
  // The column has this name too.
  expect(stdout).toMatch(/\n1\n1\n/);
  expect(stdout).toContain('"label": "orders"');
});
