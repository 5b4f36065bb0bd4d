import { confirmTfa, disableTfa, enableTfa, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#http/index.ts";
import { type Principal } from "#identity/index.ts";
import { confirmTwoFactor, disableTwoFactor, offerTwoFactor, type TwoFactorDeps } from "./two-factor.ts";

/** Two-factor sign-in in the tenant API. */
export function tfaRoutes(app: FastifyInstance, deps: RouteDeps & TwoFactorDeps): void {
  route(app, deps, enableTfa, ({ principal, idempotency }) =>
    offerTwoFactor(deps, personOf(principal), idempotency, ({ secret, until }) => ({
      secret,
      expiry: toTimestamp(until),
    })),
  );

  route(app, deps, confirmTfa, ({ principal, body, idempotency }) =>
    confirmTwoFactor(deps, personOf(principal), body.tfa_code, idempotency, (codes) => ({
      scratch: codes[0] as string,
      scratch_codes: codes,
    })),
  );

  route(app, deps, disableTfa, async ({ principal, idempotency }) => {
    await disableTwoFactor(deps, personOf(principal), idempotency);
    return {};
  });
}

const personOf = ({ accountId, userId }: Principal) => ({ accountId, userId });
