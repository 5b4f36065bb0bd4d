import { until } from "@moorage/testkit/until.ts";
import { type Member, othersThan, untilHealthy } from "../../kit/cluster.ts";
import { slowDown } from "../../kit/cluster-cuts.ts";
import { type Fault, killed } from "../../kit/cluster-faults.ts";
import { percentile, seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { without, writesAt } from "../../kit/cluster-writers.ts";
import { tenant } from "../../kit/tenant.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { type Measured, trial } from "../trial.ts";
import { requireAmong, requireReportedLoss } from "./lost-with-primary.ts";
import { removeStandingCluster, standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, sumOfCounts, timesIn, underLoad, untilNewPrimary } from "./under-load.ts";

const START = "asynchronous primary killed";
/** How long a full link delays the replicas before the server is killed; much longer, and they count it as failed. */
const BEHIND_MS = 700;

/**
 * Shows that the drills would detect a loss: asynchronous replication loses writes when its primary dies, most of all
 * over a full link (every second trial). The receipt must report every loss; a run without any loss proves nothing and
 * fails.
 */
export const asynchControl = defineDrill({
  name: "asynch-control",
  question:
    "Do the drills detect every write that an asynchronous cluster loses with its primary, and does the receipt report all of them?",
  hosts: { least: 3 },
  measures: "from the fault to the next accepted write",
  goal: "at least one lost, all reported",
  short: leftOut("`three-nodes-asynch.test.ts` kills a primary"),
  long: { trials: 20 },
  extent: ({ trials }) => `${trials} trials (\`--trials\`), every second one with a full link`,
  async run(run, { trials }) {
    const count = run.options.trials ?? trials;
    for (let n = 1; n <= count; n++) {
      const full = n % 2 === 0;
      await trial(run, `${START}, ${n}${full ? ": its link full" : ""}`, () => losePrimary({ full, fault: killed }));
    }
    await removeStandingCluster("asynch");
    const figures = run.ledger.figuresOf(START);
    const times = timesIn(figures);
    console.log(
      `${START}, ${figures.length} trials on this commit: from the fault to the next accepted write p50 ${percentile(times, 50)} s, p95 ${percentile(times, 95)} s; ${sumOfCounts(figures)}`,
    );
    await trial(run, `asynchronous control of ${count}: acknowledged writes were lost`, async () => {
      const lossy = figures.filter(({ counts }) => counts?.lost !== 0).length;
      if (lossy === 0) throw new Error("nothing was lost, so that nothing is shown");
      return `in ${lossy} of ${figures.length}`;
    });
  },
});

/** `full`: its link is full, so that its replicas are behind. Unattended, and every loss must be reported. */
export async function losePrimary({ full, fault }: { full: boolean; fault: Fault }): Promise<Measured> {
  const alice = tenant();
  const cluster = await standingCluster(alice, "asynch");
  const { primary: old, members } = cluster;
  // Writes until three are healthy again: the old primary must accept no writes when it is back either.
  const seen = await underLoad(cluster, async (writers, load) => {
    const { struckAt, next } = await strikeUnder();
    const onlyAtOld = await until("the old primary runs again, and reports what it has", 60, async () =>
      without(await writesAt(old, load), await writesAt(next, load)),
    );
    const healing = performance.now();
    const healed = await untilHealthy(alice, cluster.id, 240);
    return { struckAt, next, onlyAtOld, healed, healedMs: performance.now() - healing };

    async function strikeUnder(): Promise<{ struckAt: number; next: Member }> {
      await using link = full ? await slowDown(old, othersThan(old, members)) : undefined;
      if (link !== undefined) await writers.untilAcceptedAfter(link.at + BEHIND_MS, 10);
      const deadAt = await fault.strike(old);
      return { struckAt: deadAt, next: await untilNewPrimary(old, cluster, writers) };
    }
  });
  const { struckAt: at, next, onlyAtOld, healed, healedMs } = seen.result;
  const lost = without(seen.acknowledged, await writesAt(healed.primary, seen.run));
  await requireNoLoss(healed, { ...seen, acknowledged: without(seen.acknowledged, lost) });
  requireAmong(onlyAtOld, lost);
  await requireReportedLoss(alice, cluster.id, {
    at,
    from: old.ordinal,
    to: next.ordinal,
    transactions: onlyAtOld.length,
  });
  const took = timeToRecover(seen.times, at);
  return {
    note: `${seconds(took)} to the next write, three again after ${seconds(healedMs)}; ${countsOf(seen, lost.length)}; ${onlyAtOld.length} transactions only at the old primary, as in the receipt`,
    figures: figuresOf(seen, [took], lost.length),
  };
}
