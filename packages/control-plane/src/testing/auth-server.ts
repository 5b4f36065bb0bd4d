import { randomBytes } from "node:crypto";
import { readSettings } from "@moorage/contract/settings";
import { freePort } from "@moorage/testkit/free-port.ts";
import { newVisitor } from "@moorage/testkit/visitor.ts";
import { rateLimitSettings, rateLimitsOf } from "#platform/limits/settings.ts";
import { createNoRateLimiter, type RateLimiter } from "#platform/limits/rate-limiter.ts";
import { createLog } from "#platform/log.ts";
import { createNoThrottle, createPasswords, type Passwords, type Throttle } from "#sign-in/index.ts";
import { createAuthServer } from "../auth.ts";
import type { World } from "./world.ts";

type Settings = {
  throttle?: Throttle;
  passwords?: Passwords;
  publicUrl?: string;
  port?: number;
  limiter?: RateLimiter;
};

export const PASSWORD = "three quiet boats at dusk";
/** Hashing takes time, and most tests do not test it: all users share one hash. */
const passwords = createPasswords();
const hashOfPassword = passwords.hash(PASSWORD);

/** The authorization server on a world's database, on its own port. It trusts the client address in the header. */
export async function newAuthServer(world: World, settings: Settings = {}) {
  const port = settings.port ?? (await freePort());
  const authUrl = `http://localhost:${port}`;
  const app = await createAuthServer(
    createLog("test", "silent"),
    {
      db: world.db,
      clock: world.clock,
      sealer: world.sealer,
      keyRing: { current: "k1", keys: { k1: randomBytes(32).toString("base64") } },
      limiter: settings.limiter ?? createNoRateLimiter(rateLimitsOf(readSettings(rateLimitSettings, {}))),
      throttle: settings.throttle ?? createNoThrottle(),
      passwords: settings.passwords ?? passwords,
      authUrl,
      publicUrl: settings.publicUrl,
    },
    {
      trustedProxies: ["127.0.0.1", "::1"],
      maxInFlight: 500,
      maxLagMs: 60_000,
      drainMs: 1000,
      check: async () => {},
    },
  );
  await app.listen({ host: "localhost", port });
  return {
    authUrl,
    visitor: (ip?: string) => newVisitor(authUrl, ip),
    async setPassword({ accountId, userId }: { accountId: number; userId: number }): Promise<void> {
      await world.db
        .updateTable("users")
        .set({ password_hash: await hashOfPassword, password_set_at: world.time.now })
        .where("account_id", "=", accountId)
        .where("id", "=", userId)
        .execute();
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}
export type AuthServer = Awaited<ReturnType<typeof newAuthServer>>;
