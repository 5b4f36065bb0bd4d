import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type { FastifyInstance } from "fastify";
import type { Pool } from "pg";
import type { Log } from "#platform/log.ts";

export type TracingSettings = {
  /** The base address of a collector that accepts OTLP over HTTP. Undefined: no traces. */
  endpoint: string | undefined;
  /** The share of traces that is kept: 0 to 1. */
  share: number;
};

export type Tracing = {
  /**
   * `continues`: the caller is part of this installation, and its trace continues here. Call it before the server is
   * ready.
   */
  watch(app: FastifyInstance, options?: { continues: boolean }): void;
  watchPool(pool: Pool): void;
  activities: ActivityInterceptorsFactory;
  /** Sends the remaining spans. */
  close(): Promise<void>;
};

/** When it is off, tracing costs nothing: OpenTelemetry is not even loaded. */
export async function startTracing(service: string, settings: TracingSettings, log: Log): Promise<Tracing | undefined> {
  if (settings.endpoint === undefined) return undefined;
  const { startOpenTelemetry } = await import("./open-telemetry.ts");
  return startOpenTelemetry(service, settings.endpoint, settings.share, log);
}
