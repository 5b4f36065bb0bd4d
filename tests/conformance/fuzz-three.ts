import { until } from "@moorage/testkit/until.ts";
import { makeCluster, promotedByTenant, untilHealthy } from "../kit/cluster.ts";
import { unplugged } from "../kit/cluster-faults.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

/** What only a cluster can do, one operation after a fault, in an account that has room for it. */
export async function aDayOfThree(url: string): Promise<void> {
  const alice = tenant(undefined, url);
  const { id } = await makeCluster(alice, unique("fuzz-three"), { replication_type: "asynch" });
  // Refused until the hosts of all three have reported healthy nodes, which may be a moment later.
  await until("a switchover is accepted", 60, async () => (await alice.act(id, "switchover")).status === 200);
  await alice.untilEvent(id, "database_switchover");
  const { primary } = await untilHealthy(alice, id, 60);
  await unplugged.strike(primary);
  try {
    await promotedByTenant(alice, id, primary);
  } finally {
    await unplugged.heal(primary);
  }
  await untilHealthy(alice, id, 240);
  await alice.deleteSurely(id);
}
