import { meter } from "#metering/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Plan } from "#regions/index.ts";
import type { DatabaseRow } from "./database-store.ts";

type Metered = Pick<
  DatabaseRow,
  "account_id" | "id" | "plan" | "cluster_size" | "region" | "label" | "powered" | "status" | "deleted_at"
>;

/**
 * What a database costs from now on, in the transaction that settles its state: during a change it costs what it did
 * before, and one that could not be provisioned costs nothing. Locks the account's row.
 */
export async function meterDatabase(tx: Tx, database: Metered, at: Date): Promise<void> {
  const { account_id, id, plan, cluster_size, region, label, powered, status, deleted_at } = database;
  if (status === "failed" && deleted_at === null) return;
  const state = deleted_at !== null ? "ended" : powered ? "running" : "suspended";
  await meter(
    tx,
    { account_id, resource_type: "database", resource_id: id, state, plan, nodes: cluster_size, region, label },
    at,
  );
}

/** What a database takes from its account's limits. */
export const usageOf = (plan: Pick<Plan, "memory_mb" | "disk_mb">, clusterSize: number) => ({
  databases: 1,
  nodes: clusterSize,
  memory_mb: plan.memory_mb * clusterSize,
  disk_mb: plan.disk_mb * clusterSize,
});

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
