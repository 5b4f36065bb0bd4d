import { commitOfRun, CYCLE } from "./commit-sample.ts";
import { crashPoints, everyMode, strikePartOfCommit, traceFlows } from "./crash-points.ts";
import { defineDrill, leftOut } from "./drill.ts";
import type { Options } from "./trial.ts";

const inSteps = leftOut("`steps`");
const chosenBy = ({ trials, seed, step, everyPair }: Options) => ({
  seed,
  step,
  everyPair,
  ...(trials === undefined ? {} : { sample: trials }),
});

export const steps = defineDrill({
  name: "steps",
  question: "Does every operation end as requested when one of its steps is killed, repeated or times out?",
  hosts: { least: 3 },
  short: { part: CYCLE },
  long: leftOut("the four following drills have every step"),
  extent: ({ part }) => `1 of ${part} parts of all steps, chosen by the commit, one fault each`,
  run: (run) => strikePartOfCommit(run, commitOfRun()),
});

export const repeats = defineDrill({
  name: "repeats",
  question: "Does a step of a database have the same result when it is done twice, or done and reported as timed out?",
  hosts: { least: 3 },
  goal: "0 wrong",
  short: inSteps,
  long: {},
  extent: () => "every step in one of its flows",
  run: (run) => crashPoints(run, { of: "databases", modes: ["repeat", "timeout"], ...chosenBy(run.options) }),
});

export const killsOfDatabases = defineDrill({
  name: "crash-points",
  question: "Does an operation on a database end as requested when a process is killed before or after any step?",
  hosts: { least: 3 },
  goal: "0 wrong",
  short: inSteps,
  long: {},
  extent: () => "every step in one of its flows",
  run: (run) => crashPoints(run, { of: "databases", modes: ["kill-before", "kill-after"], ...chosenBy(run.options) }),
});

export const images = defineDrill({
  name: "images",
  question: "Does an operation on an image end as requested when any of its steps is killed, repeated or times out?",
  hosts: { least: 3 },
  goal: "0 wrong",
  short: inSteps,
  long: {},
  extent: () => "every step in one of its flows, with all four faults",
  run: (run) => crashPoints(run, { of: "images", modes: everyMode, ...chosenBy(run.options) }),
});

export const clusterSteps = defineDrill({
  name: "cluster-steps",
  question: "Does an operation on a cluster end as requested when any step is killed, repeated or times out?",
  hosts: { least: 3 },
  goal: "0 wrong",
  short: inSteps,
  long: {},
  extent: () => "every step in one of its flows, with all four faults",
  run: (run) => crashPoints(run, { of: "clusters", modes: everyMode, ...chosenBy(run.options) }),
});

export const trace = defineDrill({
  name: "trace",
  question: "Which steps does each flow pass?",
  hosts: { least: 3 },
  byNameOnly: true,
  short: leftOut(),
  long: {},
  extent: () => "writes `flows-of-steps.json`, only with `--only trace`",
  run: (run) => traceFlows(run, run.options.step),
});
