import { type Member, untilHealthy, untilReceipt } from "../../kit/cluster.ts";
import { type Fault, frozen, killed, unplugged } from "../../kit/cluster-faults.ts";
import { percentile, seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { powerCut, powerOn } from "../host-restarted.ts";
import { defineDrill } from "../drill.ts";
import { type Measured, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, sumOfCounts, timesIn, underLoad, untilNewPrimary } from "./under-load.ts";

const hostLost: Fault = {
  name: "its host without power",
  strike: ({ host }) => powerCut(host),
  heal: ({ host }) => powerOn(host),
};
const faults = [killed, unplugged, frozen, hostLost];

const START = "primary lost";
const GOAL_P95_MS = 10_000;
/** With fewer trials a 95th percentile means nothing. */
const ENOUGH = 20;

/** Writers run for this long before the fault, so that it hits writes at every stage. */
const WRITING_MS = 1000;

/** `fresh` counts trials that have not passed on this commit yet. */
export const primaryLost = defineDrill({
  name: "primary-lost",
  question:
    "Does a cluster continue without a lost write and without two primaries when its primary is killed, cut off, frozen or without power?",
  hosts: { least: 3 },
  measures: "from the fault to the next accepted write",
  goal: "p95 at most 10 s, 0 lost",
  short: { fresh: 4, of: 4 },
  long: { fresh: 60, of: 200 },
  extent: ({ fresh, of }) =>
    fresh === of
      ? `${of} trials`
      : `${of} trials, of which each run does ${fresh} that have not passed yet (\`--trials\`)`,
  async run(run, { fresh, of }) {
    let left = run.options.trials ?? fresh;
    for (let n = 1; n <= of && left > 0; n++) {
      const fault = faults[(n - 1) % faults.length] as Fault;
      const name = `${START}, ${n}: ${fault.name}`;
      if (run.ledger.passedBefore(name) === undefined) left--;
      await trial(run, name, () => lose(fault));
    }
    const figures = run.ledger.figuresOf(START);
    const times = timesIn(figures);
    const p95 = percentile(times, 95);
    console.log(
      `primary lost, ${times.length} trials on this commit: from the fault to the next accepted write p50 ${percentile(times, 50)} s, p95 ${p95} s (goal: at most ${GOAL_P95_MS / 1000} s); ${sumOfCounts(figures)}`,
    );
    if (times.length >= ENOUGH)
      await trial(run, `the next write after a lost primary, p95 of ${times.length}`, async () => {
        if (p95 * 1000 > GOAL_P95_MS) throw new Error(`${p95} s`);
        return `${p95} s`;
      });
  },
});

async function lose(fault: Fault): Promise<Measured> {
  const alice = tenant();
  const cluster = await standingCluster(alice);
  const { primary } = cluster;
  const seen = await underLoad(cluster, async (writers) => {
    try {
      await writers.untilAcceptedAfter(Date.now() + WRITING_MS, 30);
      const at = await fault.strike(primary);
      const next = await untilNewPrimary(primary, cluster, writers);
      return { at, next };
    } finally {
      await fault.heal(primary);
    }
  });
  // At the new primary at once; at all members once three are healthy again.
  await requireNoLoss({ primary: seen.result.next, members: [seen.result.next] }, seen);
  const healing = performance.now();
  const healed = await untilHealthy(alice, cluster.id, 240);
  await requireNoLoss(healed, seen);
  await requireReceipt(alice, cluster.id, seen.result);
  const took = timeToRecover(seen.times, seen.result.at);
  return {
    note: `${seconds(took)} to the next write, three again after ${seconds(performance.now() - healing)}; ${countsOf(seen)}`,
    figures: figuresOf(seen, [took]),
  };
}

async function requireReceipt(alice: Tenant, id: number, { at, next }: { at: number; next: Member }): Promise<void> {
  const receipt = await untilReceipt(alice, id, at);
  if (receipt.planned || receipt.transactions_lost !== 0 || receipt.to_node !== next.ordinal)
    throw new Error(`node ${next.ordinal} is primary since the fault, and the receipt is ${JSON.stringify(receipt)}`);
}
