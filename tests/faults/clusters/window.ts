import { untilHealthy } from "../../kit/cluster.ts";
import { formatGaps, seconds, totalGap } from "../../kit/cluster-gaps.ts";
import { moorage } from "../../kit/moorage.ts";
import { imageOf, otherImage } from "../../kit/second-image.ts";
import { env } from "../../kit/stack-env.ts";
import { tenant } from "../../kit/tenant.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, underLoad } from "./under-load.ts";

const GOAL_MS = 5000;

/** Does what a maintenance window does, on request. */
export const patchOfThree = defineDrill({
  name: "window",
  question: "Does a patch of three nodes stop writes for at most 5 s in total, and lose none?",
  hosts: { least: 3 },
  measures: "total time without a write, gaps of more than half a second",
  goal: "at most 5 s, 0 lost",
  short: leftOut(),
  long: {},
  extent: () => "1 trial",
  run: (run) =>
    trial(run, "a patch of three nodes under writers: nothing lost, at most 5 s without a write in all", async () => {
      const alice = tenant();
      const cluster = await standingCluster(alice);
      const desiredImage = await otherImage(cluster.id);
      await moorage("engine", "image", env("MOORAGE_ENGINE"), desiredImage);
      const seen = await underLoad(
        cluster,
        async (writers) => {
          const since = Date.now();
          await alice.actAndWait(cluster.id, "patch", "database_update", undefined, 600);
          const tookMs = Date.now() - since;
          await writers.untilAcceptedAfter(Date.now(), 30);
          return { since, tookMs };
        },
        { probed: false },
      );
      await requireNoLoss(await untilHealthy(alice, cluster.id, 120), seen);
      if ((await imageOf(cluster.id)) !== desiredImage) throw new Error("it has the image from before");
      const total = totalGap(seen.times, seen.result.since);
      if (total > GOAL_MS)
        throw new Error(`${seconds(total)} without a write in all: ${formatGaps(seen.times, seen.result.since)}`);
      return {
        note: `${seconds(seen.result.tookMs)}, of them ${seconds(total)} without a write; ${countsOf(seen)}`,
        figures: figuresOf(seen, [total]),
      };
    }),
});
