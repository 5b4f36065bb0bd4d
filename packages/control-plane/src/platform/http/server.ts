import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Text } from "@moorage/contract/texts";
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from "fastify";
import { isDatabaseTimeout } from "#platform/db/database-timeout.ts";
import { DomainError, type ErrorKind, notFoundReason } from "#platform/errors.ts";
import { TooManyRequests } from "#platform/limits/caller.ts";
import type { Log } from "#platform/log.ts";
import { Replayed } from "./idempotency.ts";
import { readJsonBodies } from "./request-body.ts";
import { refuse } from "./refuse.ts";
import { requestIdOf, secretiveRequestIdOf, withoutText, writeRequestLog } from "./request-log.ts";
import { texts } from "./texts.ts";

const BODY_LIMIT = 1024 * 1024;
/** For sending a request, not for waiting for its response. */
const REQUEST_TIMEOUT_MS = 30_000;
const RETRY_AFTER_SECONDS = 5;

const statusOf: Record<ErrorKind, number> = {
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  invalid: 400,
  "wrong-state": 400,
  conflict: 409,
  unavailable: 503,
};

type Speaking = {
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
    if (isDatabaseTimeout(error)) {
      request.log.warn(secretive ? withoutText(error) : { err: error }, "a statement met the database's timeout");
      return refuse(reply.header("retry-after", RETRY_AFTER_SECONDS), 503, texts.tookTooLong());
    }
    if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE")
      return refuse(reply, 413, texts.bodyTooLarge({ bytes: request.routeOptions.bodyLimit }));
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
      return refuse(reply, error.statusCode, texts.notProcessable({ why: error.message }));
    request.log.error(secretive ? withoutText(error) : { err: error }, "request failed");
    return refuse(reply, 500, texts.internalError());
  });
  return app;
}

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

const refusals: Record<string, readonly [status: number, reason: Text]> = {
  HPE_HEADER_OVERFLOW: [431, texts.headersTooLarge()],
  ERR_HTTP_REQUEST_TIMEOUT: [408, texts.tooSlow()],
};

/** Input that the HTTP parser refuses reaches no route, so the response is written by hand, in JSON like all others. */
function answerBytesThatAreNoRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const [status, reason] = refusals[error.code ?? ""] ?? [400, texts.notHttp()];
  const body = JSON.stringify({ errors: [{ reason: reason.text }] });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  if (socket.writable) socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  else socket.destroy();
}

type KnownPaths = {
  /** Distinguishes a wrong method from a wrong path. */
  methodsOf(url: string): string[];
  /** The longest known prefix of a path, and what may follow it. */
  nextOf(url: string): { prefix: string; next: string[] };
};

/** The paths of a server. Consulted only for requests that match no route. */
function rememberPaths(app: FastifyInstance, elsewhere: readonly { method: string; path: string }[]): KnownPaths {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  const remember = (url: string, methods: readonly string[]): void => {
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set(["OPTIONS"]) };
    for (const each of methods) path.methods.add(each);
    known.set(url, path);
  };
  for (const { method, path } of elsewhere) remember(path, method === "GET" ? [method, "HEAD"] : [method]);
  app.addHook("onRoute", ({ url, method }) => remember(url, [method].flat()));
  return {
    methodsOf: (url) => {
      const path = pathOf(url);
      const found = [...known.values()].filter(({ pattern }) => pattern.test(path));
      return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
    },
    nextOf: (url) => nextAmong([...known.keys()], pathOf(url)),
  };
}

const patternOf = (url: string): RegExp =>
  new RegExp(
    `^${url
      .split("/")
      .map((part) => (part.startsWith(":") ? "[^/]+" : RegExp.escape(part)))
      .join("/")}$`,
  );

const pathOf = (url: string): string => url.split("?", 1)[0] ?? "";

function nextAmong(known: readonly string[], path: string): { prefix: string; next: string[] } {
  let [among, prefix] = [known.map((url) => url.split("/").slice(1)), ""];
  for (const [depth, part] of path.split("/").slice(1).entries()) {
    const fixed = among.filter((url) => url[depth] === part);
    const fitting = fixed.length > 0 ? fixed : among.filter((url) => url[depth]?.startsWith(":") === true);
    // A path that ends here is known, and so is what may follow: this is where the caller went wrong.
    if (part === "" || !fitting.some((url) => url.length > depth + 1)) break;
    [among, prefix] = [fitting, `${prefix}/${shown(fitting[0]?.[depth])}`];
  }
  const depth = prefix.split("/").length - 1;
  const next = among.flatMap((url) => (url[depth] === undefined ? [] : [shown(url[depth])]));
  return { prefix, next: [...new Set(next)].sort() };
}

const shown = (part = ""): string => part.replace(/^:(.*)$/, "{$1}");
