import {
  type Context,
  context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { routeName } from "./route-name.ts";

const w3c = new W3CTraceContextPropagator();

/**
 * A span for each request. It holds the route and never the path, the query, a header or a body: any of them may
 * contain a secret, which must not reach a collector.
 */
export function traceRequests(tracer: Tracer, app: FastifyInstance, continues: boolean): void {
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
