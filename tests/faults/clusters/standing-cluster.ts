import { type Cluster, makeCluster, untilHealthy } from "../../kit/cluster.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { labelled, removeAll } from "../outages.ts";

let standing: Cluster | undefined;

/** Drills share one database of three, because making it is not what they are about. One that does not heal is left. */
export async function standingCluster(alice: Tenant): Promise<Cluster> {
  const before = standing;
  standing = undefined;
  const healthy = before && (await untilHealthy(alice, before.id, 180).catch(() => removeAll(alice, [before.id])));
  standing = healthy ?? (await makeCluster(alice, labelled("three", 1)));
  return standing;
}

/** When all drills have run. */
export async function removeStandingCluster(): Promise<void> {
  if (standing !== undefined) await removeAll(tenant(), [standing.id]);
  standing = undefined;
}
