import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Provider } from "oidc-provider";
import { DomainError } from "#platform/errors.ts";
import { texts as httpTexts } from "#platform/http/texts.ts";
import { callerOf } from "#platform/limits/caller.ts";
import { applyRate, TooManyRequests } from "#platform/limits/rate-headers.ts";
import type { RateLimiter } from "#platform/limits/rate-limiter.ts";
import type { Text } from "@moorage/contract/texts";
import { POLL_SECONDS } from "./answers.ts";
import { DEVICE_GRANT } from "./command-line.ts";
import { readForm } from "./form-body.ts";
import { createHandOver, type HandOver } from "./hand-over.ts";
import type { Interactions } from "./interactions.ts";
import type { Pages } from "./pages.ts";
import { paths, SIGNED_IN } from "./provider.ts";
import { readAuthorizeQuery, readDeviceForm, readTokenForm } from "./requests.ts";
import { oauthTexts } from "./texts.ts";

/** Rate limits for polling devices and for guessing codes: seconds to wait, or 0. */
export type DeviceLimits = {
  start(ip: string): Promise<number>;
  typeCode(ip: string): Promise<number>;
  poll(ip: string, deviceCode: string): Promise<number>;
};

export type AuthRouteDeps = {
  provider: Provider;
  interactions: Interactions;
  pages: Pages;
  limiter: RateLimiter;
  deviceLimits: DeviceLimits;
};

const searchOf = (url: string): string => url.split("?").slice(1).join("?");

export function authRoutes(app: FastifyInstance, deps: AuthRouteDeps): void {
  const { provider, interactions, pages } = deps;
  const handOver = createHandOver(provider);
  const asItIs = (request: FastifyRequest, reply: FastifyReply): Promise<void> => handOver(request, reply);

  app.get(paths.authorize, async (request, reply) => {
    // Each request stores a row, for anybody who sends it.
    applyRate(reply, await deps.limiter.take(callerOf.anonymous(request.ip), { id: "authorize", rate: "single" }));
    return handOver(request, reply, { url: `${paths.authorize}?${readAuthorizeQuery(searchOf(request.url))}` });
  });
  app.get(`${paths.authorize}/:uid`, asItIs);
  for (const path of [paths.jwks, "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"])
    app.route({ method: ["GET", "OPTIONS"], url: path, handler: asItIs });

  app.get(paths.logout, async (request, reply) =>
    (await interactions.session(request, reply)) === undefined
      ? reply.type("text/html").send(pages.signedOut())
      : handOver(request, reply, { url: paths.logout }),
  );
  app.get(`${paths.logout}/success`, asItIs);
  app.get<{ Querystring: { state?: unknown } }>(SIGNED_IN, async ({ query }, reply) =>
    reply.redirect(ownPath(provider.issuer, query.state), 303),
  );
  // Without the query: a code must be typed in by somebody who sees the device, not sent along with a link.
  app.get(paths.device, async (request, reply) => handOver(request, reply, { url: paths.device }));
  app.get(`${paths.device}/:uid`, asItIs);
  void app.register(async (scope) => formRoutes(scope, handOver, deps.deviceLimits));
}

function formRoutes(app: FastifyInstance, handOver: HandOver, limits: DeviceLimits): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  const formOf = ({ headers, body }: FastifyRequest): Promise<URLSearchParams> =>
    readForm(headers["content-type"], Buffer.isBuffer(body) ? body : Buffer.alloc(0));

  app.post(paths.logout, async (request, reply) =>
    handOver(request, reply, { url: `${paths.logout}/confirm`, form: await formOf(request) }),
  );
  app.post(paths.device, async (request, reply) => {
    requireNoWait(reply, await limits.typeCode(request.ip));
    const form = await formOf(request);
    // The page that follows shows what it is for and asks for consent.
    form.set("confirm", "yes");
    return handOver(request, reply, { form });
  });
  void app.register(async (scope) => {
    scope.setErrorHandler(answerAsOAuth);
    const accept = "application/json";
    scope.post(paths.token, async (request, reply) => {
      const form = readTokenForm(await formOf(request));
      if (form.get("grant_type") === DEVICE_GRANT && (await limits.poll(request.ip, form.get("device_code") ?? "")) > 0)
        return refuseAsOAuth(reply, 400, "slow_down", oauthTexts.slowDown({ seconds: POLL_SECONDS }));
      return handOver(request, reply, { accept, form });
    });
    scope.post(paths.deviceAuthorization, async (request, reply) => {
      requireNoWait(reply, await limits.start(request.ip));
      return handOver(request, reply, { accept, form: readDeviceForm(await formOf(request)) });
    });
    scope.post(paths.revoke, async (request, reply) =>
      handOver(request, reply, { accept, form: await formOf(request) }),
    );
    for (const path of [paths.token, paths.revoke])
      scope.options(path, async (request, reply) => handOver(request, reply));
  });
}

function requireNoWait(reply: FastifyReply, seconds: number): void {
  if (seconds === 0) return;
  reply.header("retry-after", seconds);
  throw new TooManyRequests();
}

/** In the form of RFC 6749, which differs from the API's. */
function refuseAsOAuth(reply: FastifyReply, status: number, error: string, ...reasons: Text[]): FastifyReply {
  reply.refusals = reasons.map(({ code }) => code);
  const description = reasons.map(({ text }) => text).join(" ");
  return reply.status(status).type("application/json").send({ error, error_description: description });
}

function answerAsOAuth(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof DomainError)
    return refuseAsOAuth(reply, 400, "invalid_request", ...error.errors.map(({ reason }) => reason));
  if (error instanceof TooManyRequests) return refuseAsOAuth(reply, error.statusCode, "invalid_request", error.reason);
  const status = error.statusCode ?? 500;
  if (status < 500)
    return refuseAsOAuth(reply, status, "invalid_request", httpTexts.notProcessable({ why: error.message }));
  request.log.error({ err: error }, "request failed");
  return refuseAsOAuth(reply, 500, "server_error", oauthTexts.serverFailed());
}

/** Only paths of this server: an open redirect would lead to addresses that others choose. */
function ownPath(issuer: string, path: unknown): string {
  const home = "/security";
  if (typeof path !== "string" || !path.startsWith("/") || !URL.canParse(path, issuer)) return home;
  const url = new URL(path, issuer);
  return url.origin === new URL(issuer).origin && `${url.pathname}${url.search}` === path ? path : home;
}
