/**
 * Fault drills against the running stack (`pnpm stack up --hosts 3`).
 *   pnpm test:faults                  all of them, every step
 *   pnpm test:faults --list           what each drill asks, and the extent of its two forms; needs no stack
 *   pnpm test:faults --only NAME      one drill, or several: NAME,NAME
 *   pnpm test:faults --every-pair     each step in every flow that passes it (hours); otherwise in one, by --seed
 *   pnpm test:faults --step TEXT      only the steps whose name contains TEXT
 *   pnpm test:faults --trials N       a sample of N points of each kind, chosen by --seed
 *   pnpm test:faults --ci             the short form: the tenth of all steps that belongs to this commit; with
 *                                     MOORAGE_TURN, as in .ci/run, every second one of the other drills
 *   pnpm test:faults --record         results also replace those in tests/faults/results, which the documents quote
 *   pnpm test:faults --only trace     writes which flows pass which steps to flows-of-steps.json, for the short form;
 *                                     with --step TEXT only for the flows whose name contains TEXT
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { everySecond } from "@moorage/testkit/turns.ts";
import { printSlowest } from "../../tools/slowest.ts";
import { repo } from "../../tools/stack/paths.ts";
import { chosen } from "../kit/chosen.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { removeStandingCluster } from "./clusters/standing-cluster.ts";
import { type Drill, tableOf } from "./drill.ts";
import { type Form, recordedResults, writeResult } from "./drill-result.ts";
import { drills } from "./drills.ts";
import { openLedger } from "./ledger.ts";
import { steps } from "./step-drills.ts";
import type { Run } from "./trial.ts";

const { values } = parseArgs({
  options: {
    list: { type: "boolean", default: false },
    only: { type: "string" },
    trials: { type: "string" },
    step: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    ci: { type: "boolean", default: false },
    "every-pair": { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
});
const form: Form = values.ci ? "short" : "long";

if (values.list) console.log(tableOf(drills).trimEnd());
else await runAll(chosen("drill", drillsOf(form), values.only));

function drillsOf(which: Form): Record<string, Drill> {
  const some = drills.filter(
    ({ name, byNameOnly, [which]: { exists } }) => exists && (byNameOnly !== true || values.only === name),
  );
  // The steps have a tenth of their own with each commit.
  const others = everySecond(
    some.filter((drill) => drill !== steps),
    ({ name }) => name,
  );
  const ofTurn = values.only === undefined ? some.filter((drill) => drill === steps || others.includes(drill)) : some;
  return Object.fromEntries(ofTurn.map((drill) => [drill.name, drill]));
}

async function runAll(selected: readonly [string, Drill][]): Promise<void> {
  const trials = values.trials === undefined || values.ci ? undefined : Number(values.trials);
  const run: Run = {
    options: { trials, step: values.step, seed: Number(values.seed), everyPair: values["every-pair"] },
    ledger: openLedger(),
    tally: { passed: 0, failed: 0, again: 0 },
    times: [],
    trials: [],
  };
  const startedAt = new Date().toISOString();
  const ofThisRun = join(repo, ".faults", "runs", startedAt.slice(0, 19).replaceAll(":", ""));
  await allowDeletions(2000);
  for (const [name, drill] of selected) {
    console.log(`\n--- ${name}`);
    const figures = await drill.run(run, form);
    const result = { drill: name, form, commit: run.ledger.commit, date: startedAt.slice(0, 10), ...figures };
    writeResult(ofThisRun, result);
    // A stack with too few hosts leaves all trials of some drills out.
    if (values.record && figures.trials > 0) writeResult(recordedResults, result);
  }
  await removeStandingCluster("semi_synch");
  const { passed, failed, again } = run.tally;
  if (again > 0) console.log(`${again} had passed before on this commit and were not run again`);
  printSlowest("faults", run.times);
  console.log(`faults: ${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
