import { expect, test } from "vitest";
import { CYCLE, partOfCommit, wayOfCommit } from "./commit-sample.ts";

const steps = Array.from({ length: 137 }, (_, n) => `agent.step-${n}`);
const modes = ["kill-before", "kill-after", "repeat", "timeout"];
const commitsFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, n) => first + n);

test.each([0, 1, 777, 1_000_003])("ten commits in a row from number %i cover every step once", (first) => {
  const struck = commitsFrom(first, CYCLE).flatMap((commit) => partOfCommit(steps, commit));

  expect(struck.toSorted()).toEqual(steps.toSorted());
});

test("no commit injects faults into more than a tenth of the steps, rounded up", () => {
  const counts = commitsFrom(40, CYCLE).map((commit) => partOfCommit(steps, commit).length);

  expect(Math.max(...counts)).toBe(Math.ceil(steps.length / CYCLE));
  expect(Math.min(...counts)).toBe(Math.floor(steps.length / CYCLE));
});

test("the same commit injects the same faults into the same steps", () => {
  expect(partOfCommit(steps.toReversed(), 1234).toReversed()).toEqual(partOfCommit(steps, 1234));
  for (const step of steps) expect(wayOfCommit(step, modes, 1234)).toBe(wayOfCommit(step, modes, 1234));
});

test("after as many cycles as there are faults, every step got each of them", () => {
  const struck = commitsFrom(2026, CYCLE * modes.length).flatMap((commit) =>
    partOfCommit(steps, commit).map((step) => `${wayOfCommit(step, modes, commit)} ${step}`),
  );

  const every = steps.flatMap((step) => modes.map((mode) => `${mode} ${step}`));
  expect(struck.toSorted()).toEqual(every.toSorted());
});
