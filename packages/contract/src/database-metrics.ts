import { z } from "zod";
import { instance, instanceEntity } from "./databases.ts";
import { defineOperation } from "./operation.ts";
import { Moment, Timestamp } from "./wire.ts";

/** Metrics of a database that can be plotted. Rates are per second. */
export const DatabaseMetric = z.enum([
  "connections",
  "threads_running",
  "queries",
  "slow_queries",
  "buffer_pool_hit_ratio",
  "received_bytes",
  "sent_bytes",
  "disk_used_bytes",
  "disk_total_bytes",
  "cpu_cores",
  "memory_used_bytes",
  "memory_total_bytes",
]);
export type DatabaseMetric = z.output<typeof DatabaseMetric>;

const STEP = "15 to 86400 seconds";

export const MetricSeries = z.object({
  metric: DatabaseMetric,
  unit: z.enum(["count", "count_per_second", "ratio", "bytes", "bytes_per_second", "cores"]),
  from: Timestamp,
  to: Timestamp,
  step: z.int(),
  /** One series for each node: seconds since 1970 and the value; times without a value are omitted. */
  series: z.array(z.object({ node: z.string(), points: z.array(z.tuple([z.number(), z.number()])) })),
});
export type MetricSeries = z.output<typeof MetricSeries>;

export const viewMysqlMetric = defineOperation({
  id: "viewMysqlMetric",
  summary: "View a figure of a MySQL database over time",
  tag: "Databases",
  method: "GET",
  path: "/v4/databases/mysql/instances/:instanceId/metrics/:metric",
  access: { scopes: ["databases:read_only"], entity: instanceEntity("read_only") },
  params: instance.extend({ metric: DatabaseMetric }),
  /** Default: the last hour, with about 120 points. */
  query: z.object({
    from: Moment.optional(),
    to: Moment.optional(),
    step: z.coerce.number({ error: STEP }).int(STEP).min(15, STEP).max(86_400, STEP).optional(),
  }),
  rate: "single",
  reply: MetricSeries,
});
