import Fastify, { type FastifyError, type FastifyInstance, type FastifyServerOptions } from "fastify";
import { DomainError, type ErrorKind } from "#platform/errors.ts";
import type { Log } from "#platform/log.ts";

const statusOf: Record<ErrorKind, number> = {
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  invalid: 400,
  "wrong-state": 400,
  unavailable: 503,
};

const BODY_LIMIT = 1024 * 1024;

/** A Fastify server that speaks as the interface does: every answer JSON, every refusal `{"errors": [{"reason"}]}`. */
export function createServer(log: Log, options: FastifyServerOptions & { https?: object } = {}): FastifyInstance {
  const app = Fastify({
    loggerInstance: log,
    bodyLimit: BODY_LIMIT,
    // Clients write `//` in paths, and one API under two version names.
    rewriteUrl: (request) =>
      (request.url ?? "/").replace(/^([^?]*)/, (path) =>
        path.replace(/\/{2,}/g, "/").replace(/^\/v4beta(?=\/|$)/, "/v4"),
      ),
    ...options,
  }) as unknown as FastifyInstance;

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => {
    const text = String(body);
    // Clients send actions without a body under any content type.
    if (text === "") return done(null, undefined);
    if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "application/json"))
      return done(new DomainError("invalid", { reason: "The body must be JSON, sent as application/json." }));
    try {
      done(null, JSON.parse(text));
    } catch {
      done(new DomainError("invalid", { reason: "The body is not valid JSON." }));
    }
  });

  // One of the SDKs compares the whole header, so it must not name a charset.
  app.addHook("onSend", async (_request, reply, payload) => {
    if (payload !== null && payload !== undefined) reply.header("content-type", "application/json");
    return payload;
  });

  app.setNotFoundHandler(async (_request, reply) => reply.status(404).send({ errors: [{ reason: "Not found" }] }));
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    if (error instanceof DomainError) return reply.status(statusOf[error.kind]).send({ errors: error.errors });
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
      return reply.status(error.statusCode).send({ errors: [{ reason: error.message }] });
    request.log.error({ err: error }, "request failed");
    return reply
      .status(500)
      .send({ errors: [{ reason: "Something went wrong on our side. The request can be tried again." }] });
  });
  return app;
}
