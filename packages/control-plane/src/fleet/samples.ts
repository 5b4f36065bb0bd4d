import { type MetricName, metricNames, type SamplesRequest } from "@moorage/contract/agent";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";

/** The Prometheus series of a database's metric. */
export const sampleSeries = (name: MetricName, databaseId: number): string =>
  `${seriesName(name)}{database="${databaseId}"}`;
const seriesName = (name: MetricName): string => `moorage_database_${name}`;

/** Four missed samples: after that a node has no metrics. */
const STALE_AFTER_MS = 60_000;

type Sample = { database: number; values: Record<string, number>; at: number };

/** The latest metrics of each node that reported to this gateway, until Prometheus scrapes them. Nothing is stored. */
export function createSamples({ db, clock }: { db: Db; clock: Clock }) {
  const samples = new Map<string, Sample>();
  return {
    /** A host reports its own nodes only; others are skipped. */
    async take(hostId: number, { nodes }: SamplesRequest): Promise<void> {
      if (nodes.length === 0) return;
      const ids = nodes.map(({ node }) => node);
      const known = await db
        .selectFrom("nodes")
        .select(["id", "database_id"])
        .where("host_id", "=", hostId)
        .where("id", "in", ids)
        .where("released_at", "is", null)
        .execute();
      const databases = new Map(known.map(({ id, database_id }) => [id, database_id]));
      for (const { node, values } of nodes) {
        const database = databases.get(node);
        if (database !== undefined) samples.set(node, { database, values, at: clock().getTime() });
      }
    },
    /** In the exposition format of Prometheus. */
    text(): string {
      const fresh = clock().getTime() - STALE_AFTER_MS;
      for (const [node, { at }] of samples) if (at < fresh) samples.delete(node);
      return metricNames.map((metric) => family(metric, samples)).join("");
    },
  };
}
export type Samples = ReturnType<typeof createSamples>;

function family({ name, kind, help }: (typeof metricNames)[number], samples: ReadonlyMap<string, Sample>): string {
  const lines = [...samples].flatMap(([node, { database, values }]) =>
    values[name] === undefined ? [] : [`${seriesName(name)}{database="${database}",node="${node}"} ${values[name]}\n`],
  );
  return `# HELP ${seriesName(name)} ${help}\n# TYPE ${seriesName(name)} ${kind}\n${lines.join("")}`;
}
