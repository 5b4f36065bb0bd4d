import { context, diag, DiagLogLevel } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Log } from "#platform/log.ts";
import { traceActivities, workflowIds } from "./trace-activities.ts";
import { traceQueries } from "./trace-queries.ts";
import { traceRequests } from "./trace-requests.ts";
import type { Tracing } from "./tracing.ts";

/** A collector that does not answer must not delay the end of a process. */
const EXPORT_TIMEOUT_MS = 2_000;

export function startOpenTelemetry(service: string, endpoint: string, share: number, log: Log): Tracing {
  const warn = (message: string): void => log.warn({ message }, "traces could not be sent");
  const silent = (): void => {};
  diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

  const ratio = new TraceIdRatioBasedSampler(share);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": `moorage-${service}` }),
    // A caller may begin a trace, but not decide that it is kept.
    sampler: new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio, remoteParentNotSampled: ratio }),
    idGenerator: workflowIds,
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer("moorage");

  return {
    watch: (app, { continues } = { continues: false }) => traceRequests(tracer, app, continues),
    watchPool: (pool) => traceQueries(tracer, pool),
    activities: traceActivities(tracer),
    async close() {
      await provider.shutdown().catch((error: unknown) => warn(String(error)));
      context.disable();
      diag.disable();
    },
  };
}
