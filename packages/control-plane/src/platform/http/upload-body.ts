import type { FastifyInstance, FastifyRequest } from "fastify";
import { invalid } from "#platform/errors.ts";
import { texts } from "./texts.ts";

/** Accepts files as bodies, unchanged. Their type is checked with the body, after the caller: see `fileOf`. */
export function readFiles(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

/** The uploaded file, if it has one of these types. */
export function fileOf({ headers, body }: FastifyRequest, types: readonly string[]): Buffer {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!types.includes(type)) throw invalid("Content-Type", texts.contentTypeNotAccepted({ types }));
  return (body as Buffer | undefined) ?? Buffer.alloc(0);
}
