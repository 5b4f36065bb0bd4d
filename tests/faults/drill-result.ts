import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "../kit/cluster-gaps.ts";
import type { CountName, Counts, Result } from "./ledger.ts";

/** `--ci` runs the short form. */
export type Form = "short" | "long";

/** Seconds. */
type Times = { count?: number; min?: number; p50?: number; p95?: number; max?: number };

/** Figures are of the trials that passed. */
export type DrillFigures = { trials: number; passed: number; failed: number; times?: Times; counts: Counts };

/** A result from before drills wrote results lacks what was not noted then. */
export type DrillResult = Partial<DrillFigures> & {
  drill: string;
  form: Form;
  commit?: string;
  date?: string;
  /** Where the figures come from, if no run wrote them. */
  recorded?: string;
  /** What the figures do not express. */
  remarks?: string;
};

/** Results that the documents quote. */
export const recordedResults = join(import.meta.dirname, "results");

/** With fewer values a 95th percentile means nothing. */
const ENOUGH = 20;

/** `counts` are those that belong to no single trial. */
export function summarize(trials: readonly Result[], counts: Counts): DrillFigures {
  const passed = trials.filter(({ ok }) => ok);
  const times = passed.flatMap(({ figures }) => figures?.times ?? []);
  return {
    trials: trials.length,
    passed: passed.length,
    failed: trials.length - passed.length,
    ...(times.length === 0 ? {} : { times: timesOf(times) }),
    counts: sumOf([...passed.map(({ figures }) => figures?.counts ?? {}), counts]),
  };
}

function timesOf(ms: readonly number[]): Times {
  const at = (percent: number): number => Math.round(percentile(ms, percent) / 10) / 100;
  const p95 = ms.length < ENOUGH ? {} : { p95: at(95) };
  return { count: ms.length, min: at(0), p50: at(50), ...p95, max: at(100) };
}

function sumOf(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all)
    for (const [name, count] of Object.entries(counts) as [CountName, number][]) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** Replaces the drill's earlier result in this folder. */
export function writeResult(folder: string, result: DrillResult): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${result.drill}.json`), `${JSON.stringify(result, null, 2)}\n`);
}

export const readResults = (folder: string): DrillResult[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as DrillResult);
