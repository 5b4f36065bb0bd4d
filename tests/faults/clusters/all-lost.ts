import { untilHealthy } from "../../kit/cluster.ts";
import { serverOf } from "../../kit/cluster-faults.ts";
import { seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { tenant } from "../../kit/tenant.ts";
import { type Run, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, requireNoLoss, underLoad } from "./under-load.ts";

/** Kills every server of a database at once: no member is left that knows the group. */
export async function allLost(run: Run, count: number): Promise<void> {
  for (let n = 1; n <= count; n++)
    await trial(run, `all three servers killed at once, ${n}: back by itself, nothing lost`, async () => {
      const alice = tenant();
      const cluster = await standingCluster(alice);
      const seen = await underLoad(cluster, async (writers) => {
        const servers = await Promise.all(cluster.members.map(serverOf));
        const at = Date.now();
        for (const pid of servers) process.kill(pid, "SIGKILL");
        await writers.untilAcceptedAfter(at + 2000, 240);
        return at;
      });
      await requireNoLoss(await untilHealthy(alice, cluster.id, 240), seen);
      return `${seconds(timeToRecover(seen.times, seen.result))} to the next write; ${countsOf(seen)}`;
    });
}
