/**
 * Fault drills against the running stack (`pnpm stack up --hosts 3`).
 *   pnpm test:faults                  all of them, every step
 *   pnpm test:faults --only NAME      crash-points | repeats | steps (with --ci) | temporal-stopped | temporal-lost |
 *                                     set-back | control-plane-down | dns-alone | host-restarted | stack-down-up |
 *                                     month-end | images | image-stores
 *                                     databases with three nodes: cluster-steps | primary-lost | asynch-control |
 *                                     forced-promotion | partitions | control-plane-away | switchovers | window |
 *                                     all-lost | restarts | restore-degraded (complete with seven hosts) |
 *                                     node-lost (complete with four hosts) | accept-loss (with five) |
 *                                     soak (30 minutes)
 *   pnpm test:faults --every-pair     each step in every flow that passes it (hours); otherwise in one, by --seed
 *   pnpm test:faults --step TEXT      only the steps whose name contains TEXT
 *   pnpm test:faults --trials N       a sample of N points of each kind, chosen by --seed
 *   pnpm test:faults --ci             the short form: the tenth of all steps that belongs to this commit
 *   pnpm test:faults --only trace     writes which flows pass which steps to flows-of-steps.json, for the short form;
 *                                     with --step TEXT only for the flows whose name contains TEXT
 */
import { parseArgs } from "node:util";
import { printSlowest } from "../../tools/slowest.ts";
import { chosen } from "../kit/chosen.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { acceptLoss } from "./clusters/accept-loss.ts";
import { allLost } from "./clusters/all-lost.ts";
import { asynchControl } from "./clusters/asynch-control.ts";
import { forcedPromotion } from "./clusters/forced-promotion.ts";
import { controlPlaneAway } from "./clusters/control-plane-away.ts";
import { nodeLost } from "./clusters/node-lost.ts";
import { partitions } from "./clusters/partitions.ts";
import { primaryLost } from "./clusters/primary-lost.ts";
import { restarts } from "./clusters/restarts.ts";
import { restoreDegraded } from "./clusters/restore-degraded.ts";
import { soak } from "./clusters/soak.ts";
import { removeStandingCluster } from "./clusters/standing-cluster.ts";
import { switchovers } from "./clusters/switchovers.ts";
import { patchOfThree } from "./clusters/window.ts";
import { commitNumber } from "./commit-sample.ts";
import { crashPoints, everyMode, strikePartOfCommit, traceFlows } from "./crash-points.ts";
import { imageStores } from "./image-stores.ts";
import { openLedger } from "./ledger.ts";
import { controlPlaneDown, hostRestarted, setBack, temporalLost, temporalStopped } from "./outages.ts";
import { monthEnd } from "./month-end.ts";
import { dnsAlone } from "./dns-alone.ts";
import { stackDownAndUp } from "./stack-life.ts";
import type { Run } from "./trial.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    trials: { type: "string" },
    step: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    ci: { type: "boolean", default: false },
    "every-pair": { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const everyPair = values["every-pair"];
const chosenPoints = {
  seed,
  everyPair,
  step: values.step,
  ...(values.trials === undefined ? {} : { sample: Number(values.trials) }),
};
const run: Run = { ledger: openLedger(), tally: { passed: 0, failed: 0, again: 0 }, times: [] };
type Drills = Record<string, () => Promise<unknown>>;

const everywhere: Drills = {
  "temporal-stopped": () => temporalStopped(run, values.ci ? 10 : 60),
  "temporal-lost": () => temporalLost(run),
  "set-back": () => setBack(run),
  "control-plane-down": () => controlPlaneDown(run, values.ci ? 10 : 60),
  "dns-alone": () => dnsAlone(run, values.ci ? 10 : 60),
  "host-restarted": () => hostRestarted(run),
  "stack-down-up": () => stackDownAndUp(run),
  "image-stores": () =>
    imageStores(run, values.ci ? { seconds: 5, seeds: 1, few: true } : { seconds: 40, seeds: 10, few: false }),
  "month-end": () =>
    monthEnd(
      run,
      values.ci
        ? { accounts: 500, accountsEach: 10, kills: 5, seed }
        : { accounts: 10_000, accountsEach: 250, kills: 20, seed },
    ),
};
/** These drills share a database of three nodes. */
const ofThree: Drills = {
  "primary-lost": () =>
    primaryLost(run, values.ci ? { fresh: 4, of: 4 } : { fresh: Number(values.trials ?? 60), of: 200 }),
  "control-plane-away": () => controlPlaneAway(run),
  partitions: () =>
    partitions(run, values.ci ? { few: commitNumber(), holdSeconds: 10 } : { few: undefined, holdSeconds: 20 }),
  switchovers: () => switchovers(run, values.ci ? 3 : 50),
  "all-lost": () => allLost(run, values.ci ? 1 : 20),
  restarts: () => restarts(run),
};
const shortOnly: Drills = { steps: () => strikePartOfCommit(run, commitNumber()) };
const longOnly: Drills = {
  repeats: () => crashPoints(run, { of: "databases", modes: ["repeat", "timeout"], ...chosenPoints }),
  "crash-points": () => crashPoints(run, { of: "databases", modes: ["kill-before", "kill-after"], ...chosenPoints }),
  images: () => crashPoints(run, { of: "images", modes: everyMode, ...chosenPoints }),
  "cluster-steps": () => crashPoints(run, { of: "clusters", modes: everyMode, ...chosenPoints }),
  "asynch-control": () => asynchControl(run, Number(values.trials ?? 20)),
  "forced-promotion": () => forcedPromotion(run),
  window: () => patchOfThree(run),
  "restore-degraded": () => restoreDegraded(run),
  "node-lost": () => nodeLost(run),
  "accept-loss": () => acceptLoss(run),
  soak: () => soak(run, 30),
};
const drills: Drills = values.ci
  ? { ...shortOnly, ...everywhere, ...ofThree }
  : {
      ...longOnly,
      ...everywhere,
      ...ofThree,
      ...(values.only === "trace" ? { trace: () => traceFlows(run, values.step) } : {}),
    };
const selected = chosen("drill", drills, values.only);

await allowDeletions(2000);
for (const [name, drill] of selected) {
  console.log(`\n--- ${name}`);
  await drill();
}
await removeStandingCluster("semi_synch");
if (run.tally.again > 0) console.log(`${run.tally.again} had passed before on this commit and were not run again`);
printSlowest("faults", run.times);
console.log(`faults: ${run.tally.passed} passed, ${run.tally.failed} failed`);
process.exitCode = run.tally.failed === 0 ? 0 : 1;
