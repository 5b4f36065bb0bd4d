import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { sha256 } from "#platform/sha256.ts";

/** The name contains a hash of the content, so that browsers may cache it for ever. */
function asset(file: string, type: string) {
  const content = readFileSync(join(import.meta.dirname, "assets", file));
  const [name, extension] = file.split(".") as [string, string];
  return { path: `/assets/${name}-${sha256(content).toString("hex").slice(0, 12)}.${extension}`, type, content };
}

export const assets = {
  style: asset("moorage.css", "text/css; charset=utf-8"),
  passkeys: asset("passkeys.js", "text/javascript; charset=utf-8"),
  icon: asset("icon.svg", "image/svg+xml"),
};

export function assetRoutes(app: FastifyInstance): void {
  for (const { path, type, content } of Object.values(assets))
    app.get(path, { logLevel: "warn" }, async (_request, reply) =>
      reply
        .type(type)
        .header("cache-control", "public, max-age=31536000, immutable")
        .header("x-content-type-options", "nosniff")
        .send(content),
    );
}
