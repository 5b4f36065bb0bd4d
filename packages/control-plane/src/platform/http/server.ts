import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from "fastify";
import { DomainError, type ErrorKind, notFoundReason } from "#platform/errors.ts";
import { TooManyRequests } from "#platform/limits/rate-headers.ts";
import type { Log } from "#platform/log.ts";
import type { Text } from "@moorage/contract/texts";
import { answerBytesThatAreNoRequest } from "./client-error.ts";
import { readJsonBodies } from "./json-body.ts";
import { type KnownPaths, rememberPaths } from "./known-paths.ts";
import { Replayed } from "./idempotency.ts";
import { refuse } from "./refuse.ts";
import { requestIdOf, secretiveRequestIdOf, withoutText, writeRequestLog } from "./request-log.ts";
import { texts } from "./texts.ts";

const statusOf: Record<ErrorKind, number> = {
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  invalid: 400,
  "wrong-state": 400,
  conflict: 409,
  unavailable: 503,
};

const BODY_LIMIT = 1024 * 1024;
/** For sending a request, not for waiting for its response. */
const REQUEST_TIMEOUT_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

/** Options of every server, for programs and for people. */
export const everyServer = (log: Log) => ({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: requestIdOf,
  requestTimeout: REQUEST_TIMEOUT_MS,
  // Fastify applies it to the hooks of a shutdown too, which take as long as the notice and the drain.
  pluginTimeout: 0,
  // A request that arrives on an open connection during shutdown is served, and the response closes the connection.
  return503OnClosing: false,
  clientErrorHandler: answerBytesThatAreNoRequest,
});

export type Speaking = {
  /** Any part of a request may be secret: neither paths nor error texts are logged. */
  secretive?: boolean;
  /** Routes that another server answers under our paths. */
  elsewhere?: readonly { method: string; path: string }[];
  /** The text for a path that does not exist, instead of the default. */
  whyNowhere?: (url: string, near: ReturnType<KnownPaths["nextOf"]>) => Text;
};

/**
 * A Fastify server with the conventions of the API: every response is JSON, every refusal `{"errors": [{"reason"}]}`.
 */
export function createServer(
  log: Log,
  options: FastifyServerOptions & { https?: object } = {},
  { secretive = false, elsewhere = [], whyNowhere }: Speaking = {},
): FastifyInstance {
  const app = Fastify({
    ...everyServer(log),
    ...(secretive && { genReqId: secretiveRequestIdOf }),
    bodyLimit: BODY_LIMIT,
    // An id longer than any existing one does not exist.
    frameworkErrors: (error, request, reply) => {
      reply.header("x-request-id", request.id);
      void (error.code === "FST_ERR_MAX_PARAM_LENGTH"
        ? refuse(reply, 404, texts.idTooLong())
        : refuse(reply, 400, texts.pathMalformed()));
    },
    // Clients write `//` in paths or a trailing slash, and use one API under two version names.
    rewriteUrl: (request) =>
      (request.url ?? "/").replace(/^([^?]*)/, (path) =>
        path
          .replace(/\/{2,}/g, "/")
          .replace(/^\/v4beta(?=\/|$)/, "/v4")
          .replace(/(?<=^\/v4\/.+)\/$/, ""),
      ),
    ...options,
  }) as unknown as FastifyInstance;

  readJsonBodies(app);
  writeRequestLog(app, { paths: !secretive });
  const { methodsOf, nextOf } = rememberPaths(app, elsewhere);

  // One of the SDKs compares the whole header, so it must not name a charset.
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (String(reply.getHeader("content-type")).startsWith("application/json"))
      reply.header("content-type", "application/json");
    done();
  });

  const answerWithoutRoute = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const methods = methodsOf(request.url);
    const isElsewhere = request.method !== "OPTIONS" && methods.includes(request.method);
    if (isElsewhere) return refuse(reply, 404, notFoundReason());
    if (methods.length === 0)
      return refuse(reply, 404, whyNowhere?.(request.url, nextOf(request.url)) ?? notFoundReason());
    reply.header("allow", methods.join(", "));
    if (request.method === "OPTIONS") return reply.status(204).send();
    return refuse(reply, 405, texts.methodNotAllowed({ method: request.method, allowed: methods }));
  };
  app.setNotFoundHandler(async (request, reply) => answerWithoutRoute(request, reply));
  // Before the body is read: a request to the wrong server may hold what this process must not see.
  app.addHook("preParsing", async (request, reply) => {
    if (request.is404) await answerWithoutRoute(request, reply);
  });

  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    if (error instanceof Replayed) return reply.status(200).type("application/json").send(error.reply);
    if (error instanceof DomainError) {
      if (error.kind === "unavailable") reply.header("retry-after", RETRY_AFTER_SECONDS);
      if (error.kind === "unauthorized") reply.header("www-authenticate", "Bearer");
      reply.refusals = error.errors.map(({ reason }) => reason.code);
      return reply
        .status(statusOf[error.kind])
        .send({ errors: error.errors.map(({ field, reason }) => ({ field, reason: reason.text })) });
    }
    if (error instanceof TooManyRequests) return refuse(reply, error.statusCode, error.reason);
    if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE")
      return refuse(reply, 413, texts.bodyTooLarge({ bytes: request.routeOptions.bodyLimit }));
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
      return refuse(reply, error.statusCode, texts.notProcessable({ why: error.message }));
    request.log.error(secretive ? withoutText(error) : { err: error }, "request failed");
    return refuse(reply, 500, texts.internalError());
  });
  return app;
}
