import type { Plan } from "#regions/index.ts";

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
