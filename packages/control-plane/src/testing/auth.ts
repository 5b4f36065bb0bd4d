import { createHash, randomBytes } from "node:crypto";
import { readSettings } from "@moorage/contract/settings";
import { newBrowser } from "@moorage/testkit/browser.ts";
import { freePort } from "@moorage/testkit/free-port.ts";
import type { FastifyInstance } from "fastify";
import { createAuthorizationServer } from "#auth/authorization-server.ts";
import type { Interaction, Interactions, Person } from "#auth/index.ts";
import { rateLimitSettings, rateLimitsOf } from "#platform/limits/settings.ts";
import { notFound } from "#platform/errors.ts";
import { createNoRateLimiter } from "#platform/limits/rate-limiter.ts";
import { createLog } from "#platform/log.ts";
import { createLoginTokens } from "#profile/index.ts";
import type { World } from "./world.ts";

export const BACK = "https://app.example.com/oauth/back";

/** Pages without a password: signing in has its own tests. */
function signInAsAnybody(app: FastifyInstance, interactions: Interactions): void {
  app.get("/interaction/:uid", async (request, reply) => {
    const found = await interactions.find(request, reply);
    if (found === undefined) throw notFound();
    return found;
  });
  app.get("/whoami", async (request, reply) => reply.send((await interactions.session(request, reply)) ?? "nobody"));
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) =>
      done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    scope.post("/interaction/:uid/sign-in", async (request, reply) => {
      const { accountId, userId } = request.body as Record<string, string>;
      await interactions.signedIn(request, reply, { accountId: Number(accountId), userId: Number(userId) }, ["pwd"]);
      return reply;
    });
    scope.post("/interaction/:uid/consent", async (request, reply) => {
      await interactions.consented(request, reply);
      return reply;
    });
    scope.post("/interaction/:uid/refuse", async (request, reply) => {
      await interactions.refused(request, reply);
      return reply;
    });
  });
}

export type App = { id: string; secret: string; redirectUri: string; public: boolean };
type AuthorizeQuery = Record<string, string | undefined>;

/** The authorization server on its own port, on the world's database. */
export async function startAuth(world: World, settings: { authUrl?: string; publicUrl?: string } = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { app, interactions } = await createAuthorizationServer(
    createLog("test", "silent"),
    {
      db: world.db,
      clock: () => new Date(),
      sealer: world.sealer,
      keyRing: { current: "k1", keys: { k1: randomBytes(32).toString("base64") } },
      limiter: createNoRateLimiter(rateLimitsOf(readSettings(rateLimitSettings, {}))),
      pages: {
        error: ({ title, text }) => `<h1>${title}</h1><p>${text}</p>`,
        signOut: ({ action, fields }) => JSON.stringify({ action, fields }),
        signedOut: () => "signed out",
        userCode: (form) => JSON.stringify(form),
        deviceSignedIn: () => "the command line is signed in",
      },
      loginTokens: createLoginTokens({ db: world.db, clock: () => new Date() }),
      deviceLimits: { start: async () => 0, typeCode: async () => 0, poll: async () => 0 },
      authUrl: settings.authUrl ?? url,
      publicUrl: settings.publicUrl,
    },
    {
      maxInFlight: 500,
      maxLagMs: 60_000,
      drainMs: 1000,
      trustedProxies: false,
      check: async () => {},
    },
  );
  signInAsAnybody(app, interactions);
  await app.listen({ host: "127.0.0.1", port });

  const post = (
    path: string,
    body: string | URLSearchParams | FormData,
    headers: Record<string, string> = {},
  ): Promise<Response> => fetch(`${url}${path}`, { method: "POST", body, headers });

  return {
    url,
    interactions,
    post,
    browser: () => newBrowser(url),

    /** Verified by the operator, so that it may ask users of any account. */
    async newApp(owner: Awaited<ReturnType<World["customer"]>>, change: object = {}): Promise<App> {
      const newClient = { label: "An app", redirect_uri: BACK, public: false, ...change };
      const { body } = await owner.post<{ id: string; secret: string }>("/v4/account/oauth-clients", newClient);
      await world.operator.post(`/admin/oauth-clients/${body.id}/verified`, { verified: true });
      return { ...body, redirectUri: newClient.redirect_uri, public: newClient.public };
    },

    async [Symbol.asyncDispose]() {
      await app.close();
    },
  };
}
export type Auth = Awaited<ReturnType<typeof startAuth>>;
export type AuthBrowser = ReturnType<typeof newBrowser>;

export const newProof = () => {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
};

export const authorizePath = (params: AuthorizeQuery): string => {
  const given = Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `/oauth/authorize?${new URLSearchParams(given).toString()}`;
};

type Answer = "consent" | "refuse";
type Reached = { reply: Response; back: URL | undefined; shown: Interaction[] };

export const authorize = async (
  browser: AuthBrowser,
  person: Person,
  params: AuthorizeQuery,
  answer: Answer = "consent",
): Promise<Reached> => goOn(browser, person, await browser.get(authorizePath(params)), answer);

/** Follows redirects until an app is reached, or a page that is not an interaction. */
export async function goOn(
  browser: AuthBrowser,
  person: Person,
  first: Response,
  answer: Answer = "consent",
): Promise<Reached> {
  const shown: Interaction[] = [];
  let reply = first;
  for (let steps = 0; steps < 10 && reply.status === 303; steps++) {
    const to = new URL(reply.headers.get("location") ?? "", reply.url);
    if (to.origin !== new URL(reply.url).origin) return { reply, back: to, shown };
    if (!to.pathname.startsWith("/interaction/")) {
      reply = await browser.get(to.pathname + to.search);
      continue;
    }
    const interaction = (await (await browser.get(to.pathname)).json()) as Interaction;
    shown.push(interaction);
    reply =
      interaction.prompt === "sign-in"
        ? await browser.post(`${to.pathname}/sign-in`, {
            accountId: String(person.accountId),
            userId: String(person.userId),
          })
        : await browser.post(`${to.pathname}/${answer}`);
  }
  return { reply, back: undefined, shown };
}

export type Tokens = {
  access_token: string;
  refresh_token: string;
  token_type: string;
  expires_in: number;
  scope: string;
  scopes: string;
  id_token?: string;
};

/** From the app's request to its code, in a new browser unless one is given. */
export async function codeFor(
  auth: Auth,
  app: App,
  person: Person,
  change: AuthorizeQuery = {},
  browser: AuthBrowser = auth.browser(),
): Promise<{ code: string; verifier: string; browser: AuthBrowser }> {
  const { verifier, challenge } = newProof();
  const { back } = await authorize(browser, person, {
    client_id: app.id,
    response_type: "code",
    redirect_uri: app.redirectUri,
    scope: "databases:read_only",
    state: "s",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...change,
  });
  const code = back?.searchParams.get("code");
  if (code === null || code === undefined) throw new Error(`No code came back, but ${back?.href}`);
  return { code, verifier, browser };
}

export const secretOf = (app: App): Record<string, string> => (app.public ? {} : { client_secret: app.secret });

export const exchange = (auth: Auth, app: App, { code, verifier }: { code: string; verifier: string }) =>
  auth.post(
    "/oauth/token",
    new URLSearchParams({
      grant_type: "authorization_code",
      client_id: app.id,
      code,
      code_verifier: verifier,
      redirect_uri: app.redirectUri,
      ...secretOf(app),
    }),
  );

export const refresh = (auth: Auth, app: App, token: string, change: Record<string, string> = {}) =>
  auth.post(
    "/oauth/token",
    new URLSearchParams({
      grant_type: "refresh_token",
      client_id: app.id,
      refresh_token: token,
      ...secretOf(app),
      ...change,
    }),
  );

export async function tokensFor(auth: Auth, app: App, person: Person, change: AuthorizeQuery = {}): Promise<Tokens> {
  const reply = await exchange(auth, app, await codeFor(auth, app, person, change));
  if (reply.status !== 200) throw new Error(`No token came back: ${await reply.text()}`);
  return (await reply.json()) as Tokens;
}
