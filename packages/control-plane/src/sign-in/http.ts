import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Text } from "@moorage/contract/texts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { isDatabaseTimeout } from "#platform/db/database-timeout.ts";
import { DomainError } from "#platform/errors.ts";
import { isText } from "#platform/http/validate.ts";
import type { KeyRing } from "#platform/seal.ts";
import { errorPage, tooManyAttempts, tooManyPage } from "./pages/message-pages.ts";
import { texts } from "./rules/texts.ts";

/** CSRF tokens: prove that a form came from our page, for one purpose and one interaction or session. */
export type FormTokens = {
  make(purpose: string, of: string): string;
  isRight(token: string, purpose: string, of: string): boolean;
};

/** Forms are the only bodies here. */
export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string", bodyLimit: 64 * 1024 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
}

/**
 * The fields of a form that our own page sent. Both the browser's origin headers and the token are checked; either
 * would suffice.
 */
export function formOf<Name extends string>(
  { formTokens, authUrl }: { formTokens: FormTokens; authUrl: string },
  request: FastifyRequest,
  made: { for: string; of: string },
  names: readonly Name[],
): Record<Name, string> {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (site !== undefined ? site !== "same-origin" : origin !== new URL(authUrl).origin) throw NOT_OURS();
  const body = (request.body ?? {}) as Record<string, unknown>;
  if (!formTokens.isRight(Field.parse(body["form_token"]), made.for, made.of)) throw NOT_OURS();
  return Object.fromEntries(names.map((name) => [name, Field.parse(body[name])])) as Record<Name, string>;
}

/** A missing field is empty, and so is one that is not text. */
const Field = z
  .string()
  .max(16_384)
  .transform((text) => (isText(text) ? text : ""))
  .catch("");

const NOT_OURS = () => new PageRefusal(403, texts.formNotOursTitle(), texts.formNotOurs());

export function createFormTokens({ current, keys }: KeyRing): FormTokens {
  const secretOf = (id: string): Buffer =>
    Buffer.from(hkdfSync("sha256", Buffer.from(keys[id] ?? "", "base64"), "", "moorage forms", 32));
  const newest = secretOf(current);
  // Former keys are valid too, while an operator rotates them.
  const all = [
    newest,
    ...Object.keys(keys)
      .filter((id) => id !== current)
      .map(secretOf),
  ];
  const tokenBy = (secret: Buffer, purpose: string, of: string): Buffer =>
    createHmac("sha256", secret)
      .update(JSON.stringify([purpose, of]))
      .digest();
  return {
    make: (purpose, of) => tokenBy(newest, purpose, of).toString("base64url"),
    isRight(token, purpose, of) {
      const given = Buffer.from(token, "base64url");
      return all.some((secret) => {
        const right = tokenBy(secret, purpose, of);
        return given.length === right.length && timingSafeEqual(given, right);
      });
    },
  };
}

/** The server sets the headers: it knows where a form of this interaction may redirect. */
export const sendPage = (reply: FastifyReply, page: string): FastifyReply =>
  reply.type("text/html; charset=utf-8").send(page);

/** The page with the form again, and what is wrong with it. */
export function sendFaults(reply: FastifyReply, faults: readonly Text[], page: string): FastifyReply {
  reply.refusals = faults.map(({ code }) => code);
  return sendPage(reply.status(400), page);
}

export function sendTooMany(reply: FastifyReply, seconds: number, back: string): FastifyReply {
  reply.refusals = [tooManyAttempts(seconds).code];
  return sendPage(reply.status(429).header("retry-after", seconds), tooManyPage(seconds, back));
}

export function answerWithPages(app: FastifyInstance): void {
  app.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    if (error instanceof PageRefusal) return sendError(reply, error.status, error.title, error.reason);
    if (error instanceof DomainError)
      return sendError(reply, 400, texts.changeRefusedTitle(), ...error.errors.map(({ reason }) => reason));
    if (error.statusCode !== undefined && error.statusCode < 500)
      return sendError(reply, error.statusCode, texts.changeRefusedTitle(), texts.formRefused());
    request.log.error({ err: error }, "page failed");
    const status = isDatabaseTimeout(error) ? 503 : 500;
    return sendError(reply, status, texts.pageFailedTitle(), texts.pageFailed());
  });
}

function sendError(reply: FastifyReply, status: number, title: Text, ...reasons: Text[]): FastifyReply {
  reply.refusals = reasons.map(({ code }) => code);
  const text = reasons.map((reason) => reason.text).join(" ");
  return sendPage(reply.status(status), errorPage({ title: title.text, text }));
}

/** An error that is shown as its own page. */
export class PageRefusal extends Error {
  override readonly name = "PageRefusal";
  readonly status: number;
  readonly title: Text;
  readonly reason: Text;
  constructor(status: number, title: Text, reason: Text) {
    super(reason.text);
    this.status = status;
    this.title = title;
    this.reason = reason;
  }
}
