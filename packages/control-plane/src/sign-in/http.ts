import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { DomainError } from "#platform/errors.ts";
import { isText } from "#platform/http/validate.ts";
import type { SignInDeps } from "./deps.ts";
import { errorPage, tooManyPage } from "./pages/message-pages.ts";

/** An error that is shown as its own page. */
export class PageRefusal extends Error {
  override readonly name = "PageRefusal";
  readonly status: number;
  readonly title: string;
  constructor(status: number, title: string, text: string) {
    super(text);
    this.status = status;
    this.title = title;
  }
}

/** The server sets the headers: it knows where a form of this interaction may redirect. */
export const sendPage = (reply: FastifyReply, page: string): FastifyReply =>
  reply.type("text/html; charset=utf-8").send(page);

export const sendTooMany = (reply: FastifyReply, seconds: number, back: string): FastifyReply =>
  sendPage(reply.status(429).header("retry-after", seconds), tooManyPage(seconds, back));

/** Forms are the only bodies here. */
export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string", bodyLimit: 64 * 1024 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
}

const NOT_OURS = () =>
  new PageRefusal(403, "This form is not from our page", "Go back, load the page again, and send the form once more.");

/** A missing field is empty, and so is one that is not text. */
const Text = z
  .string()
  .max(16_384)
  .transform((text) => (isText(text) ? text : ""))
  .catch("");

/**
 * The fields of a form that our own page sent. Both the browser's origin headers and the token are checked; either
 * would suffice.
 */
export function formOf<Name extends string>(
  { formTokens, authUrl }: Pick<SignInDeps, "formTokens" | "authUrl">,
  request: FastifyRequest,
  made: { for: string; of: string },
  names: readonly Name[],
): Record<Name, string> {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (site !== undefined ? site !== "same-origin" : origin !== new URL(authUrl).origin) throw NOT_OURS();
  const body = (request.body ?? {}) as Record<string, unknown>;
  if (!formTokens.isRight(Text.parse(body["form_token"]), made.for, made.of)) throw NOT_OURS();
  return Object.fromEntries(names.map((name) => [name, Text.parse(body[name])])) as Record<Name, string>;
}

export function answerWithPages(app: FastifyInstance): void {
  app.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    if (error instanceof PageRefusal)
      return sendPage(reply.status(error.status), errorPage({ title: error.title, text: error.message }));
    if (error instanceof DomainError)
      return sendPage(reply.status(400), errorPage({ title: "That did not work", text: error.message }));
    if (error.statusCode !== undefined && error.statusCode < 500)
      return sendPage(
        reply.status(error.statusCode),
        errorPage({ title: "That did not work", text: "Go back, load the page again, and try once more." }),
      );
    request.log.error({ err: error }, "page failed");
    const text = "Something went wrong on our side. Please try again in a minute.";
    return sendPage(reply.status(500), errorPage({ title: "That did not work", text }));
  });
}
