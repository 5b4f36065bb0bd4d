import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { repo } from "../../tools/stack/paths.ts";

/**
 * Each of this many consecutive commits injects faults into another part of the steps; together they cover all steps.
 */
export const CYCLE = 10;

const SEED = "moorage";

/** The part that belongs to this commit. */
export const positionOf = (commit: number): number => commit % CYCLE;

/** The same for the same commit, whatever the order of the items. */
export function partOfCommit(items: readonly string[], commit: number): string[] {
  const shuffled = items.toSorted((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1));
  return shuffled.filter((_, at) => at % CYCLE === positionOf(commit));
}

/** Rotates through the ways to inject a fault into an item, one each time that its turn comes. */
export function wayOfCommit<Way>(item: string, ways: readonly Way[], commit: number): Way | undefined {
  const turn = Math.floor(commit / CYCLE) + Number.parseInt(rankOf(item).slice(0, 6), 16);
  return ways[turn % ways.length];
}

const rankOf = (item: string): string => createHash("sha256").update(`${SEED} ${item}`).digest("hex");

/** The number of the commit in its history; in a shallow clone, a number derived from the commit itself. */
export function commitNumber(): number {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: repo, encoding: "utf8" }).trim();
  if (git("rev-parse", "--is-shallow-repository") === "false") return Number(git("rev-list", "--count", "HEAD"));
  return Number.parseInt(git("rev-parse", "HEAD").slice(0, 8), 16);
}
