import type { Text } from "@moorage/contract/texts";
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from "fastify";
import { isDatabaseTimeout } from "#platform/db/database-timeout.ts";
import { DomainError } from "#platform/errors.ts";
import { writeRequestLog } from "#platform/http/request-log.ts";
import { everyServer } from "#platform/http/server.ts";
import { texts as httpTexts } from "#platform/http/texts.ts";
import type { Log } from "#platform/log.ts";
import type { Pages } from "./pages.ts";
import { texts } from "./texts.ts";

export type PageSettings = {
  issuer: string;
  /** The origin of apps' thumbnails, if it is not this server. */
  imagesFrom?: string | undefined;
};

const BODY_LIMIT = 64 * 1024;

/** A Fastify server for people: errors are pages. Paths may contain secrets and are not logged. */
export function createPageServer(
  log: Log,
  settings: PageSettings & { trustedProxies: string[] | false; pages: Pages },
): FastifyInstance {
  const headers = headersOf(settings);
  const page = (reply: FastifyReply, status: number, title: Text, ...reasons: Text[]): FastifyReply => {
    reply.refusals = reasons.map(({ code }) => code);
    const text = reasons.map((reason) => reason.text).join(" ");
    return reply
      .status(status)
      .type("text/html; charset=utf-8")
      .send(settings.pages.error({ title: title.text, text }));
  };
  const missing = (reply: FastifyReply): FastifyReply =>
    page(reply, 404, texts.pageMissingTitle(), texts.pageMissing());
  const app = Fastify({
    ...everyServer(log),
    bodyLimit: BODY_LIMIT,
    trustProxy: settings.trustedProxies,
    frameworkErrors: (_error, _request, reply) => {
      void missing(reply.headers(headers));
    },
  }) as unknown as FastifyInstance;

  app.addHook("onRequest", async (_request, reply) => {
    reply.headers(headers);
  });
  writeRequestLog(app, { paths: false });
  app.setNotFoundHandler(async (_request, reply) => missing(reply));
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    if (error instanceof DomainError && error.kind === "not-found") return missing(reply);
    if (error instanceof DomainError)
      return page(reply, 400, texts.requestRefusedTitle(), ...error.errors.map(({ reason }) => reason));
    const status = error.statusCode ?? 500;
    if (status === 429) return page(reply, 429, texts.tooManyRequestsTitle(), texts.tooManyRequests());
    if (status >= 400 && status < 500)
      return page(reply, status, texts.requestRefusedTitle(), httpTexts.notProcessable({ why: error.message }));
    request.log.error({ err: error }, "request failed");
    if (isDatabaseTimeout(error)) return page(reply, 503, texts.failedTitle(), texts.failed());
    return page(reply, 500, texts.failedTitle(), texts.failed());
  });
  return app;
}

const headersOf = (settings: PageSettings): Record<string, string> => ({
  "content-security-policy": policy(settings),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  ...(settings.issuer.startsWith("https:") && {
    "strict-transport-security": "max-age=31536000; includeSubDomains",
  }),
});

export function allowFormTarget(reply: FastifyReply, settings: PageSettings, redirectUri: string): void {
  reply.header("content-security-policy", policy(settings, [sourceOf(redirectUri)]));
}

/** The CSP source of a redirect address: an origin, or an app's own scheme. */
export function sourceOf(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return origin === "null" ? protocol : origin;
}

/**
 * Browsers apply `form-action` also to redirects after a form: a page whose form may redirect to an app must name the
 * target.
 */
const policy = ({ imagesFrom }: PageSettings, formTargets: readonly string[] = []): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    ["img-src 'self'", ...(imagesFrom === undefined ? [] : [new URL(imagesFrom).origin])].join(" "),
    ["form-action 'self'", ...formTargets].join(" "),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
