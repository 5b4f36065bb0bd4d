import { until } from "@moorage/testkit/until.ts";
import { type Cluster, makeCluster, type Replication, untilHealthy } from "../../kit/cluster.ts";
import { query } from "../../kit/records.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { labelled, removeAll } from "../outages.ts";

const standing = new Map<Replication, Cluster>();

/** Drills share one cluster, because its creation is not what they test. A cluster that does not heal is abandoned. */
export async function standingCluster(alice: Tenant, replication: Replication = "semi_synch"): Promise<Cluster> {
  const before = standing.get(replication);
  standing.delete(replication);
  const healthy = before && (await untilHealthy(alice, before.id, 180).catch(() => removeAll(alice, [before.id])));
  const cluster = healthy ?? (await makeTried(alice, replication));
  standing.set(replication, cluster);
  return cluster;
}

/**
 * The host runs a first test restore at once. A program that is started in a client's namespace meanwhile keeps a copy
 * of the mounts, and with them the volume of that restore.
 */
async function makeTried(alice: Tenant, replication: Replication): Promise<Cluster> {
  const made = await makeCluster(alice, labelled("three", 1), { replication_type: replication });
  await until("its first restore was tried", 120, async () => {
    const tried = await query("select from databases where id = $1 and verified_at is not null", [made.id]);
    return tried.length === 1;
  });
  return made;
}

/** Called when all drills that share it have run. */
export async function removeStandingCluster(replication: Replication): Promise<void> {
  const before = standing.get(replication);
  standing.delete(replication);
  if (before !== undefined) await removeAll(tenant(), [before.id]);
}
