import type { FastifyInstance } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { jsonFaultOf } from "./json-fault.ts";

export function readJsonBodies(app: FastifyInstance): void {
  // A body that names `__proto__` is refused, so that no later code has to consider it.
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => {
    const text = String(body);
    // Clients send actions without a body under any content type.
    if (text === "") return done(null, undefined);
    if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "application/json"))
      return done(new DomainError("invalid", { reason: "The body must be JSON, sent as application/json." }));
    void parse(request, text, (error, value) => {
      if (error !== null) done(new DomainError("invalid", { reason: notJson(text) }));
      else if (isDeeper(value, MOST_LEVELS))
        done(new DomainError("invalid", { reason: `The body is nested deeper than ${MOST_LEVELS} levels.` }));
      else done(null, value);
    });
  });
}

function notJson(text: string): string {
  const place = jsonFaultOf(text);
  return place === undefined
    ? "The body has a name that no body may have: `__proto__`, or `constructor` with `prototype` in it."
    : `The body is not valid JSON: look at ${place}.`;
}

/** Later code walks through a body by recursion. */
const MOST_LEVELS = 100;

function isDeeper(body: unknown, levels: number): boolean {
  let level = [body];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return false;
}
