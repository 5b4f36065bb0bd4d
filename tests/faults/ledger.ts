import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repo } from "../../tools/stack/paths.ts";

export type Result = { trial: string; ok: boolean; ms: number; note?: string };

/**
 * Results, one line each, appended to a file of this commit: an interrupted run continues where it stopped, and a trial
 * that passed on this code is not run again.
 */
export function openLedger() {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: repo, encoding: "utf8" }).trim();
  const dirty = git("status", "--porcelain", "--untracked-files=no") !== "";
  const folder = join(repo, ".faults");
  const file = join(folder, `${git("rev-parse", "--short=12", "HEAD")}.jsonl`);
  const before = !dirty && existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const results = before.map((line) => JSON.parse(line) as Result).filter(({ ok }) => ok);
  const passed = new Set(results.map(({ trial }) => trial));
  return {
    hasPassed: (trial: string): boolean => passed.has(trial),
    /** The notes of passed trials, of this run and of earlier ones on this commit. */
    notesOf: (start: string): string[] =>
      results.filter(({ trial }) => trial.startsWith(start)).flatMap(({ note }) => note ?? []),
    append(result: Result): void {
      if (result.ok) results.push(result);
      // With uncommitted changes a result says nothing about the commit.
      if (dirty) return;
      mkdirSync(folder, { recursive: true });
      appendFileSync(file, `${JSON.stringify(result)}\n`);
    },
  };
}
export type Ledger = ReturnType<typeof openLedger>;
