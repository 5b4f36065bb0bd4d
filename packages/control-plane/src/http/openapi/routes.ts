import { createHash } from "node:crypto";
import scalar from "@scalar/fastify-api-reference";
import type { FastifyInstance } from "fastify";
import { openapiDocument } from "./document.ts";

const DOCUMENT = "/v4/openapi.json";

/** One per process, not per server: creating it takes longer than the rest of a server's start. */
let made: string | undefined;

/** The description of the API, for programs and for people. Both are public. */
export function openapiRoutes(app: FastifyInstance): void {
  const document = (made ??= JSON.stringify(openapiDocument()));
  app.get(DOCUMENT, async (_request, reply) => reply.type("application/json").send(document));

  app.register(async (scope) => {
    // The server answers in JSON; a page and its script are the exception.
    scope.addHook("onSend", async (request, reply, payload) => {
      const isPage = typeof payload === "string" && payload.startsWith("<!doctype html>");
      if (isPage) reply.header("content-security-policy", policyFor(payload));
      if (isPage) reply.type("text/html; charset=utf-8");
      if (request.url.endsWith(".js")) reply.type("text/javascript; charset=utf-8");
      return payload;
    });
    await scope.register(scalar, {
      routePrefix: "/docs",
      configuration: {
        url: DOCUMENT,
        pageTitle: "Moorage",
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        showDeveloperTools: "never",
        authentication: { preferredSecurityScheme: "token" },
        agent: { disabled: true },
        mcp: { disabled: true },
      },
    });
  });
}

/** Readers use their tokens on this page: it may run only its own script and connect only to its own origin. */
function policyFor(page: string): string {
  const inline = [...page.matchAll(/<script type="text\/javascript">([\s\S]*?)<\/script>/g)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${inline.join(" ")}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
