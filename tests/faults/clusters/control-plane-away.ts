import { until } from "@moorage/testkit/until.ts";
import { stop } from "../../../tools/stack/control.ts";
import { runStatement, clientA } from "../../kit/client.ts";
import { rowsAt, untilHealthy } from "../../kit/cluster.ts";
import { killed } from "../../kit/cluster-faults.ts";
import { seconds, timeToRecover } from "../../kit/cluster-gaps.ts";
import { tenant } from "../../kit/tenant.ts";
import { bring, everythingButHosts } from "../outages.ts";
import { defineDrill } from "../drill.ts";
import { trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, underLoad, untilNewPrimary } from "./under-load.ts";

export const controlPlaneAway = defineDrill({
  name: "control-plane-away",
  question:
    "Does a cluster whose primary is killed continue under the same hostname and port while everything but the hosts and DNS is stopped?",
  hosts: { least: 3 },
  measures: "from the fault to the next accepted write",
  short: {},
  long: {},
  extent: () => "1 trial",
  run: (run) =>
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
        const took = timeToRecover(seen.times, seen.result);
        return {
          note: `stopped ${names.join(", ")}: ${seconds(took)} to the next write; ${countsOf(seen)}`,
          figures: figuresOf(seen, [took]),
        };
      },
    ),
});
