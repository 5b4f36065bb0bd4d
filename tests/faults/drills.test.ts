import { expect, test } from "vitest";
import { defineDrill, leftOut, tableOf } from "./drill.ts";
import { drills } from "./drills.ts";
import type { Run } from "./trial.ts";

test("no two drills have the same name", () => {
  const names = drills.map(({ name }) => name);

  expect(names).toEqual([...new Set(names)]);
});

test.each(drills)("$name asks a question", ({ question }) => {
  expect(question).toMatch(/^[A-Z].*\?$/);
});

test.each(drills)("$name describes both forms, and has at least one", ({ short, long }) => {
  expect(short.extent).toMatch(short.exists ? /^(?!none)./ : /^none/);
  expect(long.extent).toMatch(long.exists ? /^(?!none)./ : /^none/);
  expect(short.exists || long.exists).toBe(true);
});

test.each(drills)("$name fits in a row of the table", (drill) => {
  const [row = ""] = tableOf([drill]).split("\n").slice(2);

  expect(row.split("|")).toHaveLength(7);
});

const newRun = (): Run => ({
  options: { trials: undefined, step: "", seed: 1, everyPair: false },
  ledger: { commit: "abc", passedBefore: () => undefined, figuresOf: () => [], append: () => {} },
  tally: { passed: 0, failed: 0, again: 0 },
  times: [],
  trials: [],
});

const sample = defineDrill({
  name: "sample",
  question: "Is this a sample?",
  hosts: { least: 3 },
  short: leftOut("nothing"),
  long: { kills: 2 },
  extent: ({ kills }) => `${kills} kills`,
  run: async (run, { kills }) => {
    run.trials.push({ trial: "one", ok: true, ms: 1 });
    return { chosen: kills };
  },
});

test("a drill runs with the settings of the form, and returns the figures of its own trials", async () => {
  const run = newRun();
  run.trials.push({ trial: "of another drill", ok: false, ms: 1 });

  expect(await sample.run(run, "long")).toEqual({ trials: 1, passed: 1, failed: 0, counts: { chosen: 2 } });
});

test("a form that does not exist is refused", async () => {
  await expect(sample.run(newRun(), "short")).rejects.toThrow("sample has no short form");
  expect(sample.short).toEqual({ exists: false, extent: "none: nothing" });
});
