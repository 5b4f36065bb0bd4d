import { untilHealthy } from "../../kit/cluster.ts";
import { serverOf } from "../../kit/cluster-faults.ts";
import { seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { tenant } from "../../kit/tenant.ts";
import { defineDrill } from "../drill.ts";
import { trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, underLoad } from "./under-load.ts";

/** Kills every server of a database at once: no member is left that knows the group. */
export const allLost = defineDrill({
  name: "all-lost",
  question: "Does a cluster recover automatically, without a lost write, when all of its servers are killed at once?",
  hosts: { least: 3 },
  measures: "from the fault to the next accepted write",
  goal: "0 lost",
  short: { count: 1 },
  long: { count: 20 },
  extent: ({ count }) => `${count} ${count === 1 ? "trial" : "trials"}`,
  async run(run, { count }) {
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
        const took = timeToRecover(seen.times, seen.result);
        return { note: `${seconds(took)} to the next write; ${countsOf(seen)}`, figures: figuresOf(seen, [took]) };
      });
  },
});
