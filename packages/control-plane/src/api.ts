import type { FastifyInstance } from "fastify";
import { type DatabaseRouteDeps, databaseRoutes, hasDatabase } from "#databases/index.ts";
import { eventRoutes } from "#events/index.ts";
import { createLetters } from "#mail/index.ts";
import { notificationRoutes } from "#notifications/index.ts";
import { type OAuthClientRouteDeps, oauthClientRoutes } from "#oauth-clients/index.ts";
import { type OperatorDeps, operatorRoutes } from "#operator/index.ts";
import { type ReadinessDeps, readiness } from "#platform/http/readiness.ts";
import { createServer } from "#platform/http/server.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import { tenantHeaders } from "#platform/http/tenant-headers.ts";
import type { Log } from "#platform/log.ts";
import { openapiRoutes } from "#platform/openapi/routes.ts";
import { type ProfileRouteDeps, profileRoutes } from "#profile/index.ts";
import { createOffers, regionRoutes } from "#regions/index.ts";
import { createTwoFactorRescue, tfaRoutes } from "#sign-in/index.ts";
import { type UserRouteDeps, userRoutes } from "#users/index.ts";

type TenantDeps = DatabaseRouteDeps & OAuthClientRouteDeps & ProfileRouteDeps & UserRouteDeps;
export type Serving = Bounds & ReadinessDeps & { trustedProxies: string[] | false };

/** The tenants' interface. */
export function createTenantApi(
  log: Log,
  given: Omit<TenantDeps, "exists" | "letters" | "offers">,
  serving: Serving,
): FastifyInstance {
  const app = createServer(log, { trustProxy: serving.trustedProxies });
  tenantHeaders(app);
  shedLoad(app, serving);
  readiness(app, serving);
  const deps: TenantDeps = {
    ...given,
    letters: createLetters(given),
    offers: createOffers(given),
    exists: {
      database: (accountId, id) => hasDatabase(given.db, accountId, id),
      image: async () => false,
    },
  };
  databaseRoutes(app, deps);
  eventRoutes(app, deps);
  notificationRoutes(app, deps);
  oauthClientRoutes(app, deps);
  profileRoutes(app, deps);
  regionRoutes(app, deps);
  tfaRoutes(app, deps);
  userRoutes(app, deps);
  openapiRoutes(app);
  return app;
}

/** The operator's interface listens on an address of its own, which the front does not serve. */
export function createOperatorApi(log: Log, deps: Omit<OperatorDeps, "turnOffTwoFactor">): FastifyInstance {
  const app = createServer(log);
  app.get("/health", async () => ({ status: "ok" }));
  const turnOffTwoFactor = createTwoFactorRescue({ ...deps, letters: createLetters(deps) });
  operatorRoutes(app, { ...deps, turnOffTwoFactor });
  return app;
}
