import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repo } from "../../tools/stack/paths.ts";

type WriteCount = "acknowledged" | "lost" | "unsure" | "probes";
type PointCount = "named" | "chosen" | "fired" | "wrong";
export type CountName = WriteCount | PointCount | "connections" | "failures" | "elections";
export type Counts = Partial<Record<CountName, number>>;
/** What a trial measured. Times are in milliseconds. */
export type Figures = { times?: number[]; counts?: Counts };

export type Result = { trial: string; ok: boolean; ms: number; note?: string; figures?: Figures };

/**
 * Results, one line each, appended to a file of this commit: an interrupted run continues where it stopped, and a trial
 * that passed on this code is not run again.
 */
export function openLedger() {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: repo, encoding: "utf8" }).trim();
  const dirty = git("status", "--porcelain", "--untracked-files=no") !== "";
  const folder = join(repo, ".faults");
  const commit = git("rev-parse", "--short=12", "HEAD");
  const file = join(folder, `${commit}.jsonl`);
  const before = !dirty && existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const results = before.map((line) => JSON.parse(line) as Result).filter(({ ok }) => ok);
  const passed = new Map(results.map((result) => [result.trial, result]));
  return {
    commit: dirty ? `${commit} with uncommitted changes` : commit,
    passedBefore: (trial: string): Result | undefined => passed.get(trial),
    /** The figures of passed trials, of this run and of earlier ones on this commit. */
    figuresOf: (start: string): Figures[] =>
      results.filter(({ trial }) => trial.startsWith(start)).flatMap(({ figures }) => figures ?? []),
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
