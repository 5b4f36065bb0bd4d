import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyReply {
    /** The codes of a refusal, for logs and metrics, which must not have its sentences. */
    refusals?: readonly string[];
  }
}

/** A caller's own id is kept, so that both sides can name one request, unless it could forge a log line. */
export function requestIdOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID();
}

/** For a server whose callers may send a card number anywhere, even by mistake. */
export function secretiveRequestIdOf(request: Pick<IncomingMessage, "headers">): string {
  const id = requestIdOf(request);
  return /\d{12}/.test(id) ? randomUUID() : id;
}

/**
 * One line per request, without headers, query and body: those may hold secrets, and on some servers paths do too. The
 * line of a refused request has the codes of its errors.
 */
export function writeRequestLog(app: FastifyInstance, { paths = true } = {}): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    request.log.info(
      {
        method: request.method,
        path: paths ? request.url.split("?", 1)[0] : undefined,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        ip: request.ip,
        account: reply.getHeader("x-customer-uuid"),
        codes: reply.refusals,
      },
      "request",
    );
    done();
  });
}

/** The kind and place of an error, for a log that must not repeat the request. */
export const withoutText = ({ name, stack }: Error): { error: string; at: string[] } => ({
  error: name,
  at: (stack ?? "").split("\n").filter((line) => /^ +at /.test(line)),
});
