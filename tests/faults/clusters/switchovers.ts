import { untilHealthy } from "../../kit/cluster.ts";
import { longestGap, percentile, seconds } from "../../kit/cluster-gaps.ts";
import { tenant } from "../../kit/tenant.ts";
import { type Run, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, requireNoLoss, underLoad } from "./under-load.ts";

const GOAL_P95_MS = 3000;
/** For a machine that may be busy, in runs too short for a percentile. */
const MOST_MS = 120_000;
const ENOUGH = 20;

/** On request, one after the other, each time to another member. */
export const switchovers = (run: Run, count: number): Promise<boolean> =>
  trial(run, `${count} switchovers on request: nothing lost`, async () => {
    const alice = tenant();
    const cluster = await standingCluster(alice);
    const seen = await underLoad(
      cluster,
      async (writers) => {
        const found: number[] = [];
        let { primary } = cluster;
        for (let n = 1; n <= count; n++) {
          const since = Date.now();
          await alice.actAndWait(cluster.id, "switchover", "database_switchover");
          await writers.untilAcceptedAfter(Date.now(), 30);
          found.push(longestGap(writers.times(), since));
          const after = await untilHealthy(alice, cluster.id, 60);
          if (after.primary.node === primary.node) throw new Error(`switchover ${n} changed nothing`);
          primary = after.primary;
        }
        return found;
      },
      { probed: false },
    );
    await requireNoLoss(await untilHealthy(alice, cluster.id, 60), seen);
    const [p50, p95] = [percentile(seen.result, 50), percentile(seen.result, 95)];
    if (p95 > (count >= ENOUGH ? GOAL_P95_MS : MOST_MS))
      throw new Error(`the time without a write has p95 ${seconds(p95)}: ${seen.result.join(", ")} ms`);
    return `time without a write p50 ${Math.round(p50)} ms, p95 ${Math.round(p95)} ms; ${countsOf(seen)}`;
  });
