import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type { FastifyInstance } from "fastify";
import type { Pool } from "pg";
import type { Log } from "#platform/log.ts";

export type TracingSettings = {
  /** The base address of a collector that takes OTLP over HTTP. Undefined: no traces. */
  endpoint: string | undefined;
  /** Of all traces, the share that is kept: 0 to 1. */
  share: number;
};

export type Tracing = {
  /** `continues`: the caller is one of ours, and its trace goes on here. Call it before the server is ready. */
  watch(app: FastifyInstance, options?: { continues: boolean }): void;
  watchPool(pool: Pool): void;
  activities: ActivityInterceptorsFactory;
  /** Sends what is left. */
  close(): Promise<void>;
};

/** Off, tracing costs nothing: OpenTelemetry is not even loaded. */
export async function startTracing(service: string, settings: TracingSettings, log: Log): Promise<Tracing | undefined> {
  if (settings.endpoint === undefined) return undefined;
  const { startOpenTelemetry } = await import("./open-telemetry.ts");
  return startOpenTelemetry(service, settings.endpoint, settings.share, log);
}
