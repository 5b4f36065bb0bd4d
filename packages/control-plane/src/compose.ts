import { sql } from "kysely";
import type { Config } from "#platform/config.ts";
import { readKeyRing } from "#platform/config.ts";
import { systemClock } from "#platform/clock.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { createLog } from "#platform/log.ts";
import { createSealer } from "#platform/seal.ts";
import { addCellGauges } from "#platform/telemetry/cell-gauges.ts";
import { createMetrics } from "#platform/telemetry/metrics.ts";
import { startTracing } from "#platform/telemetry/tracing.ts";

/** Log, database and clock, which every process of the control plane needs. */
export function composeBase(name: string, config: Config) {
  const log = createLog(name, config.LOG_LEVEL);
  const pool = createPool(config.DATABASE_URL);
  // The next query replaces a broken idle connection; without a listener the error would end the process.
  pool.on("error", (error) => log.warn({ err: error }, "idle database connection lost"));
  return { log, pool, db: createDb(pool), clock: systemClock };
}

/**
 * Metrics and traces of a process. Call it before the first query: connections that are already open are not traced.
 */
export async function composeTelemetry(name: string, config: Config, base: ReturnType<typeof composeBase>) {
  const metrics = createMetrics(name);
  addCellGauges(metrics.registry, base);
  const settings = { endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT, share: config.OTEL_TRACES_SAMPLER_ARG };
  const tracing = await startTracing(name, settings, base.log);
  tracing?.watchPool(base.pool);
  return { metrics, tracing };
}

/** Load limits and shutdown of a process that serves requests. */
export const composeServing = (config: Config, { db }: Pick<ReturnType<typeof composeBase>, "db">) => ({
  trustedProxies: config.MOORAGE_TRUSTED_PROXIES ?? (false as const),
  maxInFlight: config.MOORAGE_MAX_IN_FLIGHT,
  maxLagMs: config.MOORAGE_MAX_LAG_MS,
  noticeMs: config.MOORAGE_DRAIN_NOTICE_SECONDS * 1000,
  drainMs: config.MOORAGE_DRAIN_SECONDS * 1000,
  check: () => sql`select 1`.execute(db),
});

export const composeSealer = (config: Config) => createSealer(readKeyRing(config));
