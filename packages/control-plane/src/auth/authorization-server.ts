import type { FastifyInstance } from "fastify";
import { type ReadinessDeps, readiness } from "#platform/http/readiness.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import type { RateLimiter } from "#platform/limits/rate-limiter.ts";
import type { Log } from "#platform/log.ts";
import type { KeyRing } from "#platform/seal.ts";
import type { AdapterDeps } from "./adapter.ts";
import { polishAnswers } from "./answers.ts";
import type { Interactions } from "./interactions.ts";
import { cookieKeysOf, findSigningKey } from "./keys.ts";
import type { Pages } from "./pages.ts";
import { createProvider } from "./provider.ts";
import { authRoutes, type DeviceLimits } from "./routes.ts";
import { createInteractions } from "./serve-interactions.ts";
import { createPageServer } from "./server.ts";

export type AuthorizationServerDeps = AdapterDeps & {
  keyRing: KeyRing;
  limiter: RateLimiter;
  deviceLimits: DeviceLimits;
  pages: Pages;
  /** The public address of this server, and the issuer. */
  authUrl: string;
  /** The public address of the API. */
  publicUrl: string | undefined;
};

/** Everything but the interaction pages, which use `interactions`. */
export async function createAuthorizationServer(
  log: Log,
  deps: AuthorizationServerDeps,
  serving: Bounds & ReadinessDeps & { trustedProxies: string[] | false },
): Promise<{ app: FastifyInstance; interactions: Interactions }> {
  const { db, clock, sealer, loginTokens, pages, authUrl: issuer, publicUrl } = deps;
  const settings = { issuer, imagesFrom: publicUrl };
  const app = createPageServer(log, { ...settings, pages, trustedProxies: serving.trustedProxies });
  shedLoad(app, serving);
  readiness(app, serving);
  const provider = createProvider({
    db,
    clock,
    sealer,
    loginTokens,
    log,
    issuer,
    pages,
    signingKey: await findSigningKey(deps),
    cookieKeys: cookieKeysOf(deps.keyRing),
  });
  polishAnswers(provider);
  const interactions = createInteractions({ db, clock, sealer, loginTokens, provider, settings, publicUrl });
  authRoutes(app, { provider, interactions, pages, limiter: deps.limiter, deviceLimits: deps.deviceLimits });
  return { app, interactions };
}
