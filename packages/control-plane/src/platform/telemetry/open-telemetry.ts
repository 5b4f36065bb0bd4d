import { createHash } from "node:crypto";
import {
  context,
  type Context,
  createContextKey,
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Pool, PoolClient } from "pg";
import type { Log } from "#platform/log.ts";
import { routeName } from "./metrics.ts";
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

const w3c = new W3CTraceContextPropagator();

/**
 * A span for each request. It holds the route and never the path, the query, a header or a body: any of them may
 * contain a secret, which must not reach a collector.
 */
function traceRequests(tracer: Tracer, app: FastifyInstance, continues: boolean): void {
  const contexts = new WeakMap<FastifyRequest, Context>();

  app.addHook("onRequest", (request, _reply, done) => {
    const parent = continues ? w3c.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter) : ROOT_CONTEXT;
    const route = request.routeOptions.url;
    const attributes = {
      "http.request.method": request.method,
      "moorage.request_id": request.id,
      ...(route !== undefined && { "http.route": route }),
    };
    const span = tracer.startSpan(routeName(request.method, route), { kind: SpanKind.SERVER, attributes }, parent);
    const inside = trace.setSpan(parent, span);
    contexts.set(request, inside);
    context.with(inside, done);
  });

  // The end of a body comes from its socket, outside of the request's context, so the context is entered again.
  app.addHook("preValidation", (request, _reply, done) =>
    context.with(contexts.get(request) ?? context.active(), done),
  );

  app.addHook("onResponse", (request, reply, done) => {
    const span = trace.getSpan(contexts.get(request) ?? ROOT_CONTEXT);
    span?.setAttribute("http.response.status_code", reply.statusCode);
    if (reply.statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    done();
  });
}

type Query = (...args: unknown[]) => unknown;

/**
 * A span for each statement inside of another span; background polls have none. It holds the text with its placeholders
 * and never a value, and for a failure only the code: Postgres puts values into its messages.
 */
function traceQueries(tracer: Tracer, pool: Pool): void {
  pool.on("connect", (client: PoolClient) => {
    const query = client.query.bind(client) as Query;
    const traced: Query = (...args) => {
      if (trace.getSpan(context.active()) === undefined) return query(...args);
      const text = textOf(args[0]);
      const operation = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? "query";
      const span = tracer.startSpan((args[0] as { name?: string } | undefined)?.name ?? operation, {
        kind: SpanKind.CLIENT,
        attributes: { "db.system.name": "postgresql", "db.operation.name": operation, "db.query.text": text },
      });
      const end = (error?: unknown): void => (error ? fail(span, error) : span.end());
      const answer = args.at(-1);
      // The pool itself calls with a callback.
      if (isCallback(answer))
        return query(...args.slice(0, -1), (error: unknown, result: unknown) => {
          end(error);
          answer(error, result);
        });
      const result = query(...args);
      void Promise.resolve(result).then(() => end(), end);
      return result;
    };
    client.query = traced as typeof client.query;
  });
}

const textOf = (query: unknown): string =>
  typeof query === "string" ? query : ((query as { text?: string } | undefined)?.text ?? "");

function fail(span: Span, error: unknown): void {
  const { code } = error as { code?: unknown };
  span.setAttribute("db.response.status_code", typeof code === "string" ? code : "unknown");
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

const isCallback = (arg: unknown): arg is Query => typeof arg === "function";

const workflow = createContextKey("workflow");
const random = new RandomIdGenerator();

/**
 * The activities of a workflow form one trace on whichever workers they run, because its id is derived from the
 * workflow's. So the workflow carries no trace context: its input stays ids, and its history stays the same.
 */
const workflowIds: IdGenerator = {
  generateTraceId() {
    const id = context.active().getValue(workflow);
    return typeof id === "string" ? traceIdOf(id) : random.generateTraceId();
  },
  generateSpanId: () => random.generateSpanId(),
};

const traceIdOf = (workflowId: string): string => createHash("sha256").update(workflowId).digest("hex").slice(0, 32);

/** Arguments, results and messages stay out of spans. */
const traceActivities =
  (tracer: Tracer): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const workflowId = info.workflowExecution?.workflowId ?? "none";
        const attributes = { "temporal.workflow.id": workflowId, "temporal.activity.attempt": info.attempt };
        return context.with(context.active().setValue(workflow, workflowId), async () => {
          const span = tracer.startSpan(info.activityType, { root: true, attributes });
          try {
            return await context.with(trace.setSpan(context.active(), span), () => next(input));
          } catch (error) {
            span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "unknown" });
            throw error;
          } finally {
            span.end();
          }
        });
      },
    },
  });
