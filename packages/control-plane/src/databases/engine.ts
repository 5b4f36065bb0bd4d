import type { DatabaseEngine, DatabaseType } from "@moorage/contract";
import { type EngineVersion, type Plan, type PricedPlan, priceOf } from "#regions/index.ts";

/** An empty database with its logs takes a part of its first gigabyte. */
const EMPTY_DATABASE_GB = 1;

/** Total: the disk of the smallest plan that offers it. */
export const viewOfEngine = (version: EngineVersion, plans: readonly Plan[]): DatabaseEngine => ({
  id: version.id,
  engine: version.engine,
  version: version.version,
  total_disk_size_gb: plans.length === 0 ? 0 : Math.floor(Math.min(...plans.map(({ disk_mb }) => disk_mb)) / 1024),
  used_disk_size_gb: EMPTY_DATABASE_GB,
});

/** One node is offered; a plan's price is for one. */
export const viewOfType = (plan: PricedPlan): DatabaseType => ({
  id: plan.id,
  label: plan.label,
  class: plan.class,
  memory: plan.memory_mb,
  disk: plan.disk_mb,
  vcpus: plan.vcpus,
  deprecated: plan.deprecated,
  engines: { mysql: [{ quantity: 1, price: priceOf(plan) }], postgresql: [] },
});
