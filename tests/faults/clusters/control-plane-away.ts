import { stop } from "../../../tools/stack/control.ts";
import { runStatement, clientA } from "../../kit/client.ts";
import { rowsAt, untilHealthy } from "../../kit/cluster.ts";
import { killed } from "../../kit/cluster-faults.ts";
import { seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { tenant } from "../../kit/tenant.ts";
import { until } from "../../kit/until.ts";
import { bring, everythingButHosts } from "../outages.ts";
import { type Run, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, requireNoLoss, underLoad, untilNewPrimary } from "./under-load.ts";

export const controlPlaneAway = (run: Run): Promise<boolean> =>
  trial(
    run,
    "everything but hosts and names stopped, the primary killed: clients reconnect by the same name and port",
    async () => {
      const alice = tenant();
      const cluster = await standingCluster(alice);
      const names = await everythingButHosts();
      const seen = await underLoad(cluster, async (writers) => {
        await stop(names);
        try {
          const at = await killed.strike(cluster.primary);
          const next = await untilNewPrimary(cluster.primary, cluster, writers);
          const [server] = await rowsAt<{ uuid: string }>(next, "select @@server_uuid as uuid");
          await until("a new client reaches the new primary by name", 30, async () => {
            return (await runStatement(clientA(), cluster.door, "select @@server_uuid")) === server?.uuid;
          });
          return at;
        } finally {
          await bring(names);
        }
      });
      await requireNoLoss(await untilHealthy(alice, cluster.id, 240), seen);
      const took = seconds(timeToRecover(seen.times, seen.result));
      return `stopped ${names.join(", ")}: ${took} to the next write; ${countsOf(seen)}`;
    },
  );
