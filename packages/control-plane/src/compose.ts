import type { SettingsOf } from "@moorage/contract/settings";
import { sql } from "kysely";
import { readKeyRing } from "#platform/config.ts";
import { createDatabaseClock } from "#platform/db/database-clock.ts";
import { CONNECTIONS, createDb, createPool, type Timeouts } from "#platform/db/database.ts";
import type { Share } from "#platform/http/places.ts";
import { createLog, type Log } from "#platform/log.ts";
import { createSealer } from "#platform/seal.ts";
import type {
  baseSettings,
  jobTimeoutSettings,
  keyRingSettings,
  requestTimeoutSettings,
  servingSettings,
  shareSettings,
} from "#platform/settings.ts";
import { addCellGauges } from "#platform/telemetry/cell-gauges.ts";
import { addClockGauge } from "#platform/telemetry/clock-gauge.ts";
import { createMetrics } from "#platform/telemetry/metrics.ts";
import { startTracing } from "#platform/telemetry/tracing.ts";

type Base = SettingsOf<typeof baseSettings>;

export const requestTimeouts = (config: SettingsOf<typeof requestTimeoutSettings>): Timeouts => ({
  statementMs: config.MOORAGE_REQUEST_STATEMENT_SECONDS * 1000,
  lockMs: config.MOORAGE_REQUEST_LOCK_SECONDS * 1000,
});
export const jobTimeouts = (config: SettingsOf<typeof jobTimeoutSettings>): Timeouts => ({
  statementMs: config.MOORAGE_JOB_STATEMENT_SECONDS * 1000,
  lockMs: config.MOORAGE_JOB_LOCK_SECONDS * 1000,
});

export function composeDatabase(url: string, log: Log, timeouts: Timeouts, connections = CONNECTIONS) {
  const pool = createPool(url, connections, timeouts);
  // The next query replaces a broken idle connection; without a listener the error would end the process.
  pool.on("error", (error) => log.warn({ err: error }, "idle database connection lost"));
  return { pool, db: createDb(pool) };
}

/** Log, database and its clock, which every process of the control plane needs. */
export function composeBase(name: string, config: Pick<Base, "DATABASE_URL" | "LOG_LEVEL">, timeouts: Timeouts) {
  const log = createLog(name, config.LOG_LEVEL);
  const { pool, db } = composeDatabase(config.DATABASE_URL, log, timeouts);
  const databaseClock = createDatabaseClock(db, log);
  const close = async (): Promise<void> => {
    databaseClock.close();
    await db.destroy();
  };
  return { log, pool, db, databaseClock, clock: databaseClock.clock, close };
}

/**
 * Metrics and traces of a process, and the start of its clock. Call it before the first query: connections that are
 * already open are not traced.
 */
export async function composeTelemetry(name: string, config: Base, base: ReturnType<typeof composeBase>) {
  const metrics = createMetrics(name);
  addCellGauges(metrics.registry, base);
  addClockGauge(metrics.registry, base.databaseClock);
  const settings = { endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT, share: config.OTEL_TRACES_SAMPLER_ARG };
  const tracing = await startTracing(name, settings, base.log);
  tracing?.watchPool(base.pool);
  await base.databaseClock.start();
  return { metrics, tracing };
}

/** Load limits and shutdown of a process that serves requests. */
export const composeServing = (
  config: SettingsOf<typeof servingSettings>,
  { db }: Pick<ReturnType<typeof composeBase>, "db">,
) => ({
  trustedProxies: config.MOORAGE_TRUSTED_PROXIES ?? (false as const),
  maxInFlight: config.MOORAGE_MAX_IN_FLIGHT,
  maxLagMs: config.MOORAGE_MAX_LAG_MS,
  noticeMs: config.MOORAGE_DRAIN_NOTICE_SECONDS * 1000,
  drainMs: config.MOORAGE_DRAIN_SECONDS * 1000,
  check: () => sql`select 1`.execute(db),
});

/** One request in progress uses about one connection. */
export function composeShare(config: SettingsOf<typeof servingSettings & typeof shareSettings>): Share {
  const shareOf = (whole: number): number => Math.ceil((whole * config.MOORAGE_ACCOUNT_SHARE_PERCENT) / 100);
  return { places: shareOf(config.MOORAGE_MAX_IN_FLIGHT), atOnce: shareOf(CONNECTIONS) };
}

export const composeSealer = (config: SettingsOf<typeof keyRingSettings>) => createSealer(readKeyRing(config));
