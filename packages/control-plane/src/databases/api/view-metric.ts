import { type DatabaseMetric, type MetricSeries, toDate, toTimestamp } from "@moorage/contract";
import type { MetricName } from "@moorage/contract/agent";
import { z } from "zod";
import { sampleSeries } from "#fleet/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError, invalid, notFound } from "#platform/errors.ts";
import { hasDatabase } from "../model/database-store.ts";
import { texts } from "../model/texts.ts";

const HOUR_MS = 3_600_000;
const USUAL_POINTS = 120;
const MOST_POINTS = 2000;
const LEAST_STEP = 15;
/** A rate needs a few samples, one of which may be late. */
const LEAST_RATE_SECONDS = 60;
const ANSWER_WITHIN_MS = 5000;

/** The answer of Prometheus to `query_range`: a matrix of [seconds, "value"]. */
const Answer = z.object({
  status: z.literal("success"),
  data: z.object({
    resultType: z.literal("matrix"),
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), values: z.array(z.tuple([z.number(), z.string()])) }),
    ),
  }),
});

type Range = { from: Date; to: Date; step: number };
type Prometheus = {
  range(query: string, range: Range): Promise<{ labels: Record<string, string>; points: [number, number][] }[]>;
};
export type MetricDeps = { db: Db; clock: Clock; prometheus: Prometheus };
type Plot = { unit: MetricSeries["unit"]; query: (one: (name: MetricName) => string, over: string) => string };

const gauge = (name: MetricName, unit: MetricSeries["unit"]): Plot => ({ unit, query: (one) => one(name) });
const rate = (name: MetricName, unit: MetricSeries["unit"]): Plot => ({
  unit,
  query: (one, over) => `rate(${one(name)}[${over}])`,
});

const plots: Record<DatabaseMetric, Plot> = {
  connections: gauge("connections", "count"),
  threads_running: gauge("threads_running", "count"),
  queries: rate("queries_total", "count_per_second"),
  slow_queries: rate("slow_queries_total", "count_per_second"),
  buffer_pool_hit_ratio: {
    unit: "ratio",
    query: (one, over) =>
      `1 - rate(${one("buffer_pool_misses_total")}[${over}]) / rate(${one("buffer_pool_requests_total")}[${over}])`,
  },
  received_bytes: rate("received_bytes_total", "bytes_per_second"),
  sent_bytes: rate("sent_bytes_total", "bytes_per_second"),
  disk_used_bytes: gauge("disk_used_bytes", "bytes"),
  disk_total_bytes: gauge("disk_total_bytes", "bytes"),
  cpu_cores: rate("cpu_seconds_total", "cores"),
  memory_used_bytes: gauge("memory_used_bytes", "bytes"),
  memory_total_bytes: gauge("memory_total_bytes", "bytes"),
};

export async function viewMetric(
  { db, clock, prometheus }: MetricDeps,
  by: Principal,
  { instanceId, metric }: { instanceId: number; metric: DatabaseMetric },
  requested: { from?: string | undefined; to?: string | undefined; step?: number | undefined },
): Promise<MetricSeries> {
  if (!(await hasDatabase(db, by.accountId, instanceId))) throw notFound();
  const range = rangeOf(requested, clock());
  const { unit, query } = plots[metric];
  const over = `${Math.max(LEAST_RATE_SECONDS, range.step)}s`;
  // Every gateway that received the node's samples has the same values.
  const found = await prometheus.range(
    `max by (node) (${query((name) => sampleSeries(name, instanceId), over)})`,
    range,
  );
  return {
    metric,
    unit,
    from: toTimestamp(range.from),
    to: toTimestamp(range.to),
    step: range.step,
    series: found.map(({ labels, points }) => ({ node: labels["node"] ?? "", points })),
  };
}

function rangeOf(
  requested: { from?: string | undefined; to?: string | undefined; step?: number | undefined },
  now: Date,
): Range {
  const to = requested.to === undefined ? now : toDate(requested.to);
  const from = requested.from === undefined ? new Date(to.getTime() - HOUR_MS) : toDate(requested.from);
  const span = (to.getTime() - from.getTime()) / 1000;
  if (span <= 0) throw invalid("from", texts.metricRangeEmpty());
  const step = requested.step ?? Math.max(LEAST_STEP, Math.ceil(span / USUAL_POINTS));
  if (span / step > MOST_POINTS)
    throw invalid("step", texts.metricStepTooSmall({ seconds: Math.ceil(span / MOST_POINTS) }));
  return { from, to, step };
}

export const createPrometheus = (url: string | undefined): Prometheus => ({
  async range(query, { from, to, step }) {
    if (url === undefined) throw away();
    const params = new URLSearchParams({ query, start: seconds(from), end: seconds(to), step: String(step) });
    const response = await fetch(`${url}/api/v1/query_range?${params.toString()}`, {
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    }).catch(() => undefined);
    const answer = Answer.safeParse(await response?.json().catch(() => undefined));
    if (!answer.success) throw away();
    return answer.data.data.result.map(({ metric, values }) => ({
      labels: metric,
      points: values
        .map(([at, value]) => [at, Number(value)] as [number, number])
        .filter(([, v]) => Number.isFinite(v)),
    }));
  },
});

const seconds = (at: Date): string => (at.getTime() / 1000).toFixed(3);

const away = (): DomainError => new DomainError("unavailable", { reason: texts.metricsUnavailable() });
