import { takeFromLimits } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { findPlan, listPlans, type Plan } from "#regions/index.ts";
import { type Opened, openChange } from "./change-database.ts";
import { usageOf } from "./create-database.ts";
import { plansFor } from "./database.ts";
import type { DatabaseRow } from "./database-store.ts";

/** What a database has, which may not be offered any more, and what it could have. */
export const plansToResize = async (
  tx: Tx,
  { plan, cluster_size }: DatabaseRow,
): Promise<{ current: Plan; offered: Plan[] }> => ({
  current: (await findPlan(tx, plan)) as Plan,
  offered: plansFor(await listPlans(tx), cluster_size),
});

/** The account is asked here; the room on the hosts is taken when the new size is wanted of them. */
export async function openResize(
  tx: Tx,
  database: DatabaseRow,
  { from, to }: { from: Plan; to: Plan },
  opened: Omit<Opened, "kind" | "columns">,
): Promise<void> {
  await takeFromLimits(tx, database.account_id, differenceOf(to, from, database.cluster_size));
  await openChange(tx, database, { ...opened, kind: "resizeDatabase", columns: { plan: to.id } });
}

/** What a database of the one plan takes more than of the other; below zero where it takes less. */
export function differenceOf(plan: Plan, other: Plan, clusterSize: number): ReturnType<typeof usageOf> {
  const [more, less] = [usageOf(plan, clusterSize), usageOf(other, clusterSize)];
  return {
    databases: more.databases - less.databases,
    nodes: more.nodes - less.nodes,
    memory_mb: more.memory_mb - less.memory_mb,
    disk_mb: more.disk_mb - less.disk_mb,
  };
}
