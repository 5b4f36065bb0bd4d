import type { DatabaseEngine, DatabaseType } from "@moorage/contract";
import { type EngineId, type Plan, type PricedPlan, priceOf } from "#regions/index.ts";
import { plansFor } from "./database.ts";

/** An empty database with its logs takes a part of its first gigabyte. */
const EMPTY_DATABASE_GB = 1;

/** Total: the disk of the smallest plan that offers it. */
export const viewOfEngine = (version: EngineId, plans: readonly Plan[]): DatabaseEngine => ({
  id: version.id,
  engine: version.engine,
  version: version.version,
  total_disk_size_gb: plans.length === 0 ? 0 : Math.floor(Math.min(...plans.map(({ disk_mb }) => disk_mb)) / 1024),
  used_disk_size_gb: EMPTY_DATABASE_GB,
});

const SIZES = [1, 3];

/** A plan's price is for one node. */
export const viewOfType = (plan: PricedPlan): DatabaseType => ({
  id: plan.id,
  label: plan.label,
  class: plan.class,
  memory: plan.memory_mb,
  disk: plan.disk_mb,
  vcpus: plan.vcpus,
  deprecated: plan.deprecated,
  engines: {
    mysql: SIZES.filter((quantity) => plansFor([plan], quantity).length > 0).map((quantity) => ({
      quantity,
      price: priceOf({
        hourly_micros: plan.hourly_micros * quantity,
        monthly_micros: plan.monthly_micros * quantity,
      }),
    })),
    postgresql: [],
  },
});
