import type { FastifyInstance, FastifyReply } from "fastify";
import { refuse } from "./refuse.ts";
import { texts } from "./texts.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** For responses that the caller may cache; others may not be cached. */
    cacheControl?: string;
  }
}

/** The version of the API served here: one client asks its user to upgrade when it is newer than the client's own. */
export const SPEC_VERSION = "4.174.0";

const exposed = [
  "X-OAuth-Scopes",
  "X-Accepted-OAuth-Scopes",
  "X-Status",
  "X-Customer-UUID",
  "X-Spec-Version",
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "X-Ignored-Fields",
].join(", ");

const preflight = {
  "access-control-allow-methods": "HEAD, GET, OPTIONS, POST, PUT, DELETE",
  "access-control-allow-headers":
    "Authorization, Origin, X-Requested-With, Content-Type, Accept, X-Filter, Idempotency-Key, X-Request-Id",
  "access-control-max-age": "86400",
};

/** Where other APIs accept a token. Addresses end up in logs and browser histories, so this API refuses it there. */
const tokenNames = new Set(["access_token", "token", "api_key", "apikey", "api_token", "auth_token", "authorization"]);

export function tenantHeaders(app: FastifyInstance): void {
  app.addHook("onRequest", (request, reply, done) => {
    const names = Object.keys(request.query as object);
    if (!names.some((name) => tokenNames.has(name.toLowerCase()))) return done();
    void refuse(reply.header("www-authenticate", "Bearer"), 401, texts.tokenInQuery());
  });

  app.addHook("onSend", (request, reply, _payload, done) => {
    // Browsers may call from any origin: there are no cookies, so only the token counts.
    reply.header("access-control-allow-origin", "*");
    reply.header("access-control-expose-headers", exposed);
    if (request.method === "OPTIONS") reply.headers(preflight);
    reply.header("vary", "Authorization, X-Filter");
    const cacheable = reply.statusCode === 200 ? request.routeOptions.config.cacheControl : undefined;
    reply.header("cache-control", cacheable ?? "no-store");
    if (request.url.startsWith("/v4")) reply.header("x-spec-version", SPEC_VERSION);
    done();
  });
}

export type ScopeFacts = {
  /** Undefined: anonymous. */
  held: readonly string[] | undefined;
  accepted: readonly string[];
  accountUuid: string | undefined;
};

export function scopeHeaders(reply: FastifyReply, { held, accepted, accountUuid }: ScopeFacts): void {
  reply.header("x-oauth-scopes", held === undefined ? "unknown" : held.join(" "));
  reply.header("x-accepted-oauth-scopes", accepted.length === 0 ? "*" : accepted.join(","));
  if (accountUuid !== undefined) reply.header("x-customer-uuid", accountUuid);
}
