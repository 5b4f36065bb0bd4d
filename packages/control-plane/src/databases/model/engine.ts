/** The engines and types that are offered for databases. */
import type { DatabaseEngine, DatabaseType, EngineConfig } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { type ErrorDetail, invalidReason } from "#platform/errors.ts";
import { type EngineId, type EngineVersion, type Plan, type PricedPlan, priceOf } from "#regions/index.ts";
import { texts } from "./texts.ts";

/** An empty database with its logs takes a part of its first gigabyte. */
const EMPTY_DATABASE_GB = 1;

const SIZES = [1, 3];

/** A server in a group needs more memory for itself than a single one. */
const LEAST_MEMORY_OF_THREE_MB = 2048;

const byNumbers = new Intl.Collator("en", { numeric: true });

/** Total: the disk of the smallest plan that offers it. */
export const viewOfEngine = (version: EngineId, plans: readonly Plan[]): DatabaseEngine => ({
  id: version.id,
  engine: version.engine,
  version: version.version,
  total_disk_size_gb: plans.length === 0 ? 0 : Math.floor(Math.min(...plans.map(({ disk_mb }) => disk_mb)) / 1024),
  used_disk_size_gb: EMPTY_DATABASE_GB,
});

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

/** The plans for a database of so many nodes. */
export const plansFor = (offered: readonly Plan[], clusterSize: number): Plan[] =>
  offered.filter(({ memory_mb }) => clusterSize === 1 || memory_mb >= LEAST_MEMORY_OF_THREE_MB);

/** Why a type is refused, with the valid ones. */
export function typeReason(offered: readonly Plan[], clusterSize: number, type: string): Text {
  const valid = plansFor(offered, clusterSize).map(({ id }) => id);
  const small = offered.find(({ id }) => id === type);
  return invalidReason(
    "type",
    small === undefined || clusterSize === 1
      ? texts.notOffered({ valid })
      : texts.typeTooSmallForThreeNodes({
          valid,
          type,
          memoryMb: small.memory_mb,
          leastMemoryMb: LEAST_MEMORY_OF_THREE_MB,
        }),
  );
}

/** The ids of a version: its own, and that of its major version. */
export function idsOfEngine(id: string): [major: string, own: string] {
  const [engine = "", version = ""] = id.split("/");
  return [`${engine}/${version.split(".")[0]}`, id];
}

/** The valid values of `engine` in a create. */
export const engineIdsOf = (offered: readonly Pick<EngineVersion, "id">[]): string[] =>
  [...new Set(offered.flatMap(({ id }) => idsOfEngine(id)))].toSorted();

/** The version of this id, or the newest of this major version. */
export const newestNamed = <Version extends Pick<EngineVersion, "id" | "version">>(
  offered: readonly Version[],
  id: string,
): Version | undefined =>
  offered.find((version) => version.id === id) ??
  offered
    .filter((version) => idsOfEngine(version.id).includes(id))
    .toSorted((a, b) => byNumbers.compare(b.version, a.version))[0];

/**
 * Clients send the object with every setting absent or null, which requests nothing. A value is never dropped silently.
 */
export const faultsOfEngineConfig = (config: EngineConfig | undefined): ErrorDetail[] =>
  settingsIn("engine_config", config ?? {}).map((field) => ({
    field,
    reason: texts.engineSettingFixed({ field }),
  }));

const settingsIn = (group: string, settings: object): string[] =>
  Object.entries(settings).flatMap(([name, value]: [string, unknown]) => {
    const field = `${group}.${name}`;
    if (value === null || value === undefined) return [];
    return typeof value === "object" && !Array.isArray(value) ? settingsIn(field, value) : [field];
  });
