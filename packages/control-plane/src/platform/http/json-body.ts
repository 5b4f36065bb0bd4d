import type { FastifyInstance } from "fastify";
import { DomainError } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { jsonFaultOf } from "./json-fault.ts";
import { texts } from "./texts.ts";

export function readJsonBodies(app: FastifyInstance): void {
  // A body that names `__proto__` is refused, so that no later code has to consider it.
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => {
    const text = String(body);
    // Clients send actions without a body under any content type.
    if (text === "") return done(null, undefined);
    if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "application/json"))
      return done(new DomainError("invalid", { reason: texts.contentTypeNotJson() }));
    void parse(request, text, (error, value) => {
      if (error !== null) done(new DomainError("invalid", { reason: notJson(text) }));
      else if (isDeeper(value, MOST_LEVELS))
        done(new DomainError("invalid", { reason: texts.bodyTooDeep({ levels: MOST_LEVELS }) }));
      else done(null, value);
    });
  });
}

function notJson(text: string): Text {
  const place = jsonFaultOf(text);
  return place === undefined ? texts.nameNotAllowed() : texts.notJson({ place });
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
