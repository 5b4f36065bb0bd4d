import type { Text } from "@moorage/contract/texts";
import busboy from "busboy";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Provider } from "oidc-provider";
import { isDatabaseTimeout } from "#platform/db/database-timeout.ts";
import { DomainError } from "#platform/errors.ts";
import { texts as httpTexts } from "#platform/http/texts.ts";
import { applyRate, callerOf, TooManyRequests } from "#platform/limits/caller.ts";
import type { RateLimiter } from "#platform/limits/rate-limiter.ts";
import { POLL_SECONDS } from "./answers.ts";
import { DEVICE_GRANT } from "./command-line.ts";
import { sha256 } from "#platform/sha256.ts";
import { createHandOver, type HandOver } from "./hand-over.ts";
import type { Interactions } from "./interactions.ts";
import type { Pages } from "./pages.ts";
import { paths, SIGNED_IN } from "./provider.ts";
import { spellScopes } from "./scopes.ts";
import { oauthTexts, texts } from "./texts.ts";

/** Rate limits for polling devices and for guessing codes: seconds to wait, or 0. */
export type DeviceLimits = {
  start(ip: string): Promise<number>;
  typeCode(ip: string): Promise<number>;
  poll(ip: string, deviceCode: string): Promise<number>;
};

type AuthRouteDeps = {
  provider: Provider;
  interactions: Interactions;
  pages: Pages;
  limiter: RateLimiter;
  deviceLimits: DeviceLimits;
};

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
  void app.register(async (scope) => formRoutes(scope, handOver, deps));
}

const searchOf = (url: string): string => url.split("?").slice(1).join("?");

/** Only paths of this server: an open redirect would lead to addresses that others choose. */
function ownPath(issuer: string, path: unknown): string {
  const home = "/security";
  if (typeof path !== "string" || !path.startsWith("/") || !URL.canParse(path, issuer)) return home;
  const url = new URL(path, issuer);
  return url.origin === new URL(issuer).origin && `${url.pathname}${url.search}` === path ? path : home;
}

function formRoutes(
  app: FastifyInstance,
  handOver: HandOver,
  { limiter, deviceLimits: limits }: Pick<AuthRouteDeps, "limiter" | "deviceLimits">,
): void {
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
    /** Per address, and per client and address: a client's name is public, so a limit of it alone could be used up. */
    const requireRate = async (id: string, request: FastifyRequest, reply: FastifyReply, form: URLSearchParams) => {
      const client = sha256(clientIdIn(request.headers.authorization, form)).toString("base64url");
      const caller = callerOf.anonymous(request.ip);
      applyRate(reply, await limiter.take(caller, { id: `${id}:${client}`, rate: "single" }));
    };
    scope.post(paths.token, async (request, reply) => {
      const form = readTokenForm(await formOf(request));
      await requireRate("oauth-token", request, reply, form);
      if (form.get("grant_type") === DEVICE_GRANT && (await limits.poll(request.ip, form.get("device_code") ?? "")) > 0)
        return refuseAsOAuth(reply, 400, "slow_down", oauthTexts.slowDown({ seconds: POLL_SECONDS }));
      return handOver(request, reply, { accept, form });
    });
    scope.post(paths.deviceAuthorization, async (request, reply) => {
      requireNoWait(reply, await limits.start(request.ip));
      return handOver(request, reply, { accept, form: readDeviceForm(await formOf(request)) });
    });
    scope.post(paths.revoke, async (request, reply) => {
      const form = await formOf(request);
      await requireRate("oauth-revoke", request, reply, form);
      return handOver(request, reply, { accept, form });
    });
    for (const path of [paths.token, paths.revoke])
      scope.options(path, async (request, reply) => handOver(request, reply));
  });
}

/** As the request says; nothing is checked yet. Empty: none. */
export function clientIdIn(authorization: string | undefined, form: URLSearchParams): string {
  const basic = /^basic ([a-z0-9+/=]+)$/i.exec(authorization ?? "")?.[1];
  const [name = ""] = Buffer.from(basic ?? "", "base64")
    .toString()
    .split(":");
  return name === "" ? (form.get("client_id") ?? "") : name;
}

function requireNoWait(reply: FastifyReply, seconds: number): void {
  if (seconds === 0) return;
  reply.header("retry-after", seconds);
  throw new TooManyRequests();
}

function answerAsOAuth(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof DomainError)
    return refuseAsOAuth(reply, 400, "invalid_request", ...error.errors.map(({ reason }) => reason));
  if (error instanceof TooManyRequests) return refuseAsOAuth(reply, error.statusCode, "invalid_request", error.reason);
  const status = error.statusCode ?? 500;
  if (status < 500)
    return refuseAsOAuth(reply, status, "invalid_request", httpTexts.notProcessable({ why: error.message }));
  request.log.error({ err: error }, "request failed");
  if (isDatabaseTimeout(error)) return refuseAsOAuth(reply, 503, "temporarily_unavailable", oauthTexts.serverFailed());
  return refuseAsOAuth(reply, 500, "server_error", oauthTexts.serverFailed());
}

/** In the form of RFC 6749, which differs from the API's. */
function refuseAsOAuth(reply: FastifyReply, status: number, error: string, ...reasons: Text[]): FastifyReply {
  reply.refusals = reasons.map(({ code }) => code);
  const description = reasons.map(({ text }) => text).join(" ");
  return reply.status(status).type("application/json").send({ error, error_description: description });
}

/** Clients of this API family send both content types. A missing body is an empty form. */
export async function readForm(contentType: string | undefined, body: Buffer): Promise<URLSearchParams> {
  const [type = ""] = (contentType ?? "").split(";");
  if (body.length === 0) return new URLSearchParams();
  if (type.trim().toLowerCase() === "application/x-www-form-urlencoded") return new URLSearchParams(body.toString());
  if (type.trim().toLowerCase() === "multipart/form-data") return readMultipart(contentType as string, body);
  throw refused(texts.formExpected());
}

const formLimits = { fields: 30, fieldNameSize: 100, fieldSize: 8 * 1024, files: 0, parts: 30 };

function readMultipart(contentType: string, body: Buffer): Promise<URLSearchParams> {
  const form = new URLSearchParams();
  return new Promise((resolve, reject) => {
    const unreadable = texts.formUnreadable({ fields: formLimits.fields, bytes: formLimits.fieldSize });
    const refuse = (): void => reject(refused(unreadable));
    try {
      const parser = busboy({ headers: { "content-type": contentType }, limits: formLimits });
      parser.on("field", (name, value, { nameTruncated, valueTruncated }) => {
        if (nameTruncated || valueTruncated) refuse();
        form.append(name, value);
      });
      for (const event of ["filesLimit", "fieldsLimit", "partsLimit", "error"] as const) parser.on(event, refuse);
      parser.on("close", () => resolve(form));
      parser.end(body);
    } catch {
      refuse();
    }
  });
}

const refused = (reason: Text): DomainError => new DomainError("invalid", { reason });

/**
 * Translates the requests of real clients into the one form that the provider accepts. A parameter that was sent twice
 * stays twice, so that the provider refuses it.
 */
export function readAuthorizeQuery(search: string): string {
  const params = new URLSearchParams(search);
  spellScope(params);
  // Answers are sent in the query, which needs no script. The provider supports other modes, and would use them to
  // report that they are not allowed; an unknown mode is refused in the usual way.
  if (params.getAll("response_mode").some((mode) => mode !== "query")) params.set("response_mode", "unknown");
  return params.toString();
}

export function readTokenForm(form: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(form);
  spellScope(params);
  // One SDK omits it.
  if (!params.has("grant_type")) params.set("grant_type", "authorization_code");
  return params;
}

function readDeviceForm(form: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(form);
  spellScope(params);
  return params;
}

/** `scope` or `scopes`, in any spelling. If both are sent with the same value, they become one. */
function spellScope(params: URLSearchParams): void {
  const spelled = new Set([...params.getAll("scope"), ...params.getAll("scopes")].map(spellScopes));
  params.delete("scope");
  params.delete("scopes");
  for (const each of spelled) params.append("scope", each);
}
