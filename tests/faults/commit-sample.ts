import { currentTurn, partOf, rankOf } from "@moorage/testkit/turns.ts";
import { commitNumber } from "../../tools/ci/commit-number.ts";

/**
 * Each of this many consecutive commits injects faults into another part of the steps; together they cover all steps.
 */
export const CYCLE = 10;

/** As for the tests, if the run has a turn. */
export const commitOfRun = (): number => currentTurn() ?? commitNumber();

/** The part that belongs to this commit. */
export const positionOf = (commit: number): number => commit % CYCLE;

export const partOfCommit = (steps: readonly string[], commit: number): string[] =>
  partOf(steps, CYCLE, String, commit);

/** Rotates through the ways to inject a fault into an item, one each time that its turn comes. */
export function wayOfCommit<Way>(item: string, ways: readonly Way[], commit: number): Way | undefined {
  const turn = Math.floor(commit / CYCLE) + Number.parseInt(rankOf(item).slice(0, 6), 16);
  return ways[turn % ways.length];
}
