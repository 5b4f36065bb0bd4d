import { takeFromLimits } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { findPlan, listPlans, type Plan } from "#regions/index.ts";
import { type Opened, openChange } from "./change-database.ts";
import { usageOf } from "./create-database.ts";
import { plansFor } from "./database.ts";
import type { DatabaseRow } from "./database-store.ts";

/** The present plan, which may not be offered any more, and the available ones. */
export const plansToResize = async (
  tx: Tx,
  { plan, cluster_size }: DatabaseRow,
): Promise<{ current: Plan; offered: Plan[] }> => ({
  current: (await findPlan(tx, plan)) as Plan,
  offered: plansFor(await listPlans(tx), cluster_size),
});

/** Checks the account's limits; the room on the hosts is reserved when the new size is sent to them. */
export async function openResize(
  tx: Tx,
  database: DatabaseRow,
  { from, to }: { from: Plan; to: Plan },
  opened: Omit<Opened, "kind" | "columns">,
): Promise<void> {
  await takeFromLimits(tx, database.account_id, differenceOf(to, from, database.cluster_size));
  await openChange(tx, database, { ...opened, kind: "resizeDatabase", columns: { plan: to.id } });
}

/** How much more a database of one plan takes than of the other; negative where it takes less. */
export function differenceOf(plan: Plan, other: Plan, clusterSize: number): ReturnType<typeof usageOf> {
  const [more, less] = [usageOf(plan, clusterSize), usageOf(other, clusterSize)];
  return {
    databases: more.databases - less.databases,
    nodes: more.nodes - less.nodes,
    memory_mb: more.memory_mb - less.memory_mb,
    disk_mb: more.disk_mb - less.disk_mb,
  };
}
