import { generateKeyPair, hkdfSync } from "node:crypto";
import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import type { JWK } from "oidc-provider";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { readiness, type ReadinessDeps } from "#platform/http/readiness.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import type { RateLimiter } from "#platform/limits/rate-limiter.ts";
import type { Log } from "#platform/log.ts";
import type { KeyRing, Sealer } from "#platform/seal.ts";
import type { AdapterDeps } from "./adapter.ts";
import { polishAnswers } from "./answers.ts";
import type { Interactions } from "./interactions.ts";
import type { Pages } from "./pages.ts";
import { createProvider } from "./provider.ts";
import { authRoutes, type DeviceLimits } from "./routes.ts";
import { createInteractions } from "./serve-interactions.ts";
import { signingKeyPlace } from "./sealed-columns.ts";
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

const ID = "id-tokens-1";

/** Created by the first process that starts: if two start at once, both use the one that was stored. */
export async function findSigningKey({ db, clock, sealer }: { db: Db; clock: Clock; sealer: Sealer }): Promise<JWK> {
  const find = () => db.selectFrom("signing_keys").select("jwk").where("id", "=", ID).executeTakeFirst();
  let row = await find();
  if (row === undefined) {
    const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
    const jwk = JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: ID, alg: "RS256", use: "sig" });
    await db
      .insertInto("signing_keys")
      .values({ id: ID, jwk: sealer.seal(signingKeyPlace(ID), jwk), created_at: clock() })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    row = await find();
  }
  if (row === undefined) throw new Error("The signing key was written and cannot be read.");
  return JSON.parse(sealer.open(signingKeyPlace(ID), row.jwk)) as JWK;
}

/** The keys that sign cookies: the newest first, and former ones while an operator rotates them. */
function cookieKeysOf({ current, keys }: KeyRing): string[] {
  const derived = (id: string): string =>
    Buffer.from(hkdfSync("sha256", Buffer.from(keys[id] ?? "", "base64"), "", "moorage auth cookies", 32)).toString(
      "base64url",
    );
  return [current, ...Object.keys(keys).filter((id) => id !== current)].map(derived);
}
