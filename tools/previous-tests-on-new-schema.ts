/**
 * During a deployment the old code runs on the new schema. This program runs the integration tests of the commit before
 * the newest migration, with that commit's code, on a database with the current schema. It skips a migration that is
 * several commits old, which was tested when it was new, and one that only adds tables or free columns, which older
 * code cannot notice.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onlyAdds } from "./only-adds.ts";

const root = join(import.meta.dirname, "..");
const tested = "packages/control-plane";
const migrations = join(tested, "migrations");
/** The maximum number of commits that may arrive at once. */
const LOOKED_BACK = 5;

type Totals = { numPassedTests: number; numFailedTests: number; success: boolean };

const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** All migrations since that commit only add tables or free columns. */
function touchesNothing(commit: string): boolean {
  const changed = git("diff", "--name-status", "--no-renames", commit, "HEAD", "--", migrations).split("\n");
  return changed.every((line) => {
    const [kind, file] = line.split("\t");
    return kind === "A" && file !== undefined && onlyAdds(readFileSync(join(root, file), "utf8"));
  });
}

/** The commit before the newest migration, if that migration is recent. */
function commitBeforeSchema(): string | undefined {
  const last = git("log", `--max-count=${LOOKED_BACK}`, "--format=%H", "HEAD").split("\n");
  const changed = git("log", "--max-count=1", "--format=%H", "HEAD", "--", migrations);
  if (!last.includes(changed)) return undefined;
  const { status, stdout } = spawnSync("git", ["rev-parse", "--verify", "--quiet", `${changed}^`], { cwd: root });
  return status === 0 ? stdout.toString().trim() : undefined;
}

function hasIntegrationTests(commit: string): boolean {
  return git("ls-tree", "-r", "--name-only", commit, tested).includes(".integration.test.ts");
}

async function testInWorktree(commit: string): Promise<Totals> {
  const folder = mkdtempSync(join(tmpdir(), "moorage-previous-"));
  const worktree = join(folder, "tree");
  const report = join(folder, "report.json");
  const inWorktree = { cwd: worktree, stdio: "inherit" } as const;
  try {
    git("worktree", "add", "--detach", worktree, commit);
    execFileSync("pnpm", ["install", "--frozen-lockfile", "--prefer-offline", "--reporter=silent"], inWorktree);
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const vitest = [join("node_modules", "vitest", "vitest.mjs"), "run", "--project", "integration"];
    const tests = spawn(process.execPath, [...vitest, ...reporters, tested], {
      ...inWorktree,
      env: { ...process.env, MOORAGE_TEST_MIGRATIONS: join(root, migrations) },
    });
    // It removes what its tests created, and ends.
    process.once("SIGTERM", () => tests.kill("SIGTERM"));
    await once(tests, "exit");
    return JSON.parse(readFileSync(report, "utf8")) as Totals;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    git("worktree", "prune");
  }
}

/** A released migration is never edited. Before the first release there is no installation that has run one. */
function editsMigrations(commit: string): boolean {
  const edited = git("diff", "--name-only", "--no-renames", "--diff-filter=MD", commit, "HEAD", "--", migrations);
  if (edited === "") return false;
  if (git("tag", "--list", "v*") !== "")
    throw new Error(`Add a migration instead of editing released ones:\n${edited}`);
  return true;
}

function whyNot(commit: string | undefined): string | undefined {
  if (commit === undefined) return `No migration is new in the last ${LOOKED_BACK} commits.`;
  if (editsMigrations(commit)) return "Migrations were edited in place, which is allowed until the first release.";
  if (!hasIntegrationTests(commit)) return `${commit} has no integration tests.`;
  return touchesNothing(commit) ? `The migrations since ${commit} only add tables and free columns.` : undefined;
}

async function main(): Promise<void> {
  const commit = commitBeforeSchema();
  const why = whyNot(commit);
  if (commit === undefined || why !== undefined) {
    console.log(`${why}\nschema: 0 passed, 0 failed`);
    return;
  }
  console.log(`The tests of ${commit} on the schema of this commit`);
  const { numPassedTests, numFailedTests, success } = await testInWorktree(commit);
  // A file that does not load fails the run without a failed test.
  const failed = success ? 0 : Math.max(numFailedTests, 1);
  console.log(`schema: ${numPassedTests} passed, ${failed} failed`);
  process.exitCode = success ? 0 : 1;
}

await main();
