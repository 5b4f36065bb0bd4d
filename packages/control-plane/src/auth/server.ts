import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { writeRequestLog } from "#platform/http/request-log.ts";
import { everyServer } from "#platform/http/server.ts";
import type { Log } from "#platform/log.ts";
import { headersOf, type PageSettings } from "./page-headers.ts";
import type { ErrorText, Pages } from "./pages.ts";

const BODY_LIMIT = 64 * 1024;

const texts = {
  missing: { title: "There is nothing here", text: "Check the address, or go back to where you came from." },
  refused: "This could not be done",
  tooMany: { title: "Too many requests", text: "Wait a minute, then try again." },
  failed: { title: "Something went wrong on our side", text: "Please try again in a moment." },
};

/** A Fastify server for people: errors are pages. Paths may contain secrets and are not logged. */
export function createPageServer(
  log: Log,
  settings: PageSettings & { trustedProxies: string[] | false; pages: Pages },
): FastifyInstance {
  const headers = headersOf(settings);
  const page = (reply: FastifyReply, status: number, what: ErrorText): FastifyReply =>
    reply.status(status).type("text/html; charset=utf-8").send(settings.pages.error(what));
  const app = Fastify({
    ...everyServer(log),
    bodyLimit: BODY_LIMIT,
    trustProxy: settings.trustedProxies,
    frameworkErrors: (_error, _request, reply) => {
      void page(reply.headers(headers), 404, texts.missing);
    },
  }) as unknown as FastifyInstance;

  app.addHook("onRequest", async (_request, reply) => {
    reply.headers(headers);
  });
  writeRequestLog(app, { paths: false });
  app.setNotFoundHandler(async (_request, reply) => page(reply, 404, texts.missing));
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    if (error instanceof DomainError && error.kind === "not-found") return page(reply, 404, texts.missing);
    if (error instanceof DomainError) return page(reply, 400, { title: texts.refused, text: error.message });
    const status = error.statusCode ?? 500;
    if (status === 429) return page(reply, 429, texts.tooMany);
    if (status >= 400 && status < 500) return page(reply, status, { title: texts.refused, text: error.message });
    request.log.error({ err: error }, "request failed");
    return page(reply, 500, texts.failed);
  });
  return app;
}
