import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type DrillResult, readResults, recordedResults, summarize, writeResult } from "./drill-result.ts";
import { drills } from "./drills.ts";
import type { Figures, Result } from "./ledger.ts";

const passed = (figures?: Figures): Result => ({
  trial: "a trial",
  ok: true,
  ms: 1,
  ...(figures === undefined ? {} : { figures }),
});
const failed: Result = { trial: "another", ok: false, ms: 1, note: "wrong" };

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "moorage-results-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "results");
}

test("a result has the number of passed and failed trials, and the sums of what the passed ones counted", () => {
  const trials = [
    passed({ counts: { acknowledged: 10, lost: 0 } }),
    passed({ counts: { acknowledged: 5, lost: 1 } }),
    passed(),
    failed,
  ];

  expect(summarize(trials, { named: 7 })).toEqual({
    trials: 4,
    passed: 3,
    failed: 1,
    counts: { acknowledged: 15, lost: 1, named: 7 },
  });
});

test("times are seconds over all trials", () => {
  const trials = Array.from({ length: 20 }, (_, n) => passed({ times: [(n + 1) * 1004] }));

  expect(summarize(trials, {}).times).toEqual({ count: 20, min: 1, p50: 10.04, p95: 19.08, max: 20.08 });
});

test("fewer than 20 times have no 95th percentile", () => {
  const trials = [passed({ times: [1000, 3000] }), passed({ times: [2000] })];

  expect(summarize(trials, {}).times).toEqual({ count: 3, min: 1, p50: 2, max: 3 });
});

test("a written result replaces the earlier one of its drill, and no other", () => {
  const folder = newFolder();
  const result = { form: "long", commit: "abc", date: "2026-01-31", trials: 1, counts: {} } as const;
  const [one, again, other]: DrillResult[] = [
    { drill: "one", ...result },
    { drill: "one", ...result, trials: 2 },
    { drill: "other", ...result },
  ];
  for (const each of [one, other, again]) writeResult(folder, each as DrillResult);

  expect(readResults(folder)).toEqual([again, other]);
});

test.each(readResults(recordedResults))("the recorded result of $drill is of a drill, with its origin", (result) => {
  expect(drills.map(({ name }) => name)).toContain(result.drill);
  expect(result.recorded ?? (result.commit && result.date)).toBeTruthy();
});
