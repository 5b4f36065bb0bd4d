import type { FastifyInstance } from "fastify";
import { DomainError } from "#platform/errors.ts";

export function readJsonBodies(app: FastifyInstance): void {
  // A body that names `__proto__` is refused: no later code has to think of it.
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => {
    const text = String(body);
    // Clients send actions without a body under any content type.
    if (text === "") return done(null, undefined);
    if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "application/json"))
      return done(new DomainError("invalid", { reason: "The body must be JSON, sent as application/json." }));
    void parse(request, text, (error, value) =>
      error === null ? done(null, value) : done(new DomainError("invalid", { reason: "The body is not valid JSON." })),
    );
  });
}
