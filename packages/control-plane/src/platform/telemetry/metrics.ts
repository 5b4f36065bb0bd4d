import { operations, pathsOf } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = {
  registry: Registry;
  /** Counts and times the server's responses. Call it before the server is ready. */
  watch(app: FastifyInstance): void;
};

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * The metrics of this process. Labels are names from the code (operation, state, kind), never an account, a database or
 * a path: a series for each of those would grow without bound.
 */
export function createMetrics(process: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const answered = new Histogram({
    name: "moorage_http_request_seconds",
    help: "Time from a request's headers to the end of its answer.",
    labelNames: ["operation", "status"],
    buckets: SECONDS,
    registers,
  });
  const inFlight = new Gauge({
    name: "moorage_http_requests_in_flight",
    help: "Requests that are not answered yet. A host's poll is held for up to ten seconds.",
    registers,
  });
  const refused = new Counter({
    name: "moorage_refusals_total",
    help: "Errors in the answers to refused requests, by the code of their text.",
    labelNames: ["code"],
    registers,
  });

  return {
    registry,
    watch(app) {
      app.addHook("onRequest", (_request, reply, done) => {
        inFlight.inc();
        // Closed, not finished: a request whose caller hung up is no longer in flight either.
        reply.raw.once("close", () => inFlight.dec());
        done();
      });
      app.addHook("onResponse", (request, reply, done) => {
        const operation = routeName(request.method, request.routeOptions.url);
        answered.observe({ operation, status: `${Math.floor(reply.statusCode / 100)}xx` }, reply.elapsedTime / 1000);
        for (const code of reply.refusals ?? []) refused.inc({ code });
        done();
      });
    },
  };
}

/** Serves the metrics in Prometheus' text format, behind the same guard as the server's other routes. */
export function serveMetrics(app: FastifyInstance, { registry }: Metrics): void {
  app.get(
    "/metrics",
    {
      logLevel: "warn",
      // After the server's own hook, which sets JSON.
      onSend: async (_request, reply, payload) => {
        if (reply.statusCode === 200) reply.header("content-type", registry.contentType);
        return payload;
      },
    },
    () => registry.metrics(),
  );
}

const idOf = new Map<string, string>(
  operations.flatMap((operation) =>
    pathsOf(operation).map((path) => [`${operation.method} ${path}`, operation.id] as const),
  ),
);

/** The name of a request's route, from a bounded set: never the path as it was sent. */
export function routeName(method: string, url: string | undefined): string {
  if (url === undefined) return "none";
  // The second route of an operation whose id contains a slash.
  const path = url.replace(/:(\w+)_left\/:\1_right/, ":$1");
  return idOf.get(`${method} ${path}`) ?? `${method} ${url}`;
}
