import type { FastifyInstance } from "fastify";
import { type DatabaseRouteDeps, databaseRoutes, hasDatabase } from "#databases/index.ts";
import { eventRoutes } from "#events/index.ts";
import { notificationRoutes } from "#notifications/index.ts";
import { type OperatorDeps, operatorRoutes } from "#operator/index.ts";
import { type ReadinessDeps, readiness } from "#platform/http/readiness.ts";
import { createServer } from "#platform/http/server.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import { tenantHeaders } from "#platform/http/tenant-headers.ts";
import type { Log } from "#platform/log.ts";
import { openapiRoutes } from "#platform/openapi/routes.ts";
import { createOffers, regionRoutes } from "#regions/index.ts";

export type Serving = Bounds & ReadinessDeps & { trustedProxies: string[] | false };

/** The tenants' interface. */
export function createTenantApi(
  log: Log,
  given: Omit<DatabaseRouteDeps, "exists" | "offers">,
  serving: Serving,
): FastifyInstance {
  const app = createServer(log, { trustProxy: serving.trustedProxies });
  tenantHeaders(app);
  shedLoad(app, serving);
  readiness(app, serving);
  const deps: DatabaseRouteDeps = {
    ...given,
    offers: createOffers(given),
    exists: {
      database: (accountId, id) => hasDatabase(given.db, accountId, id),
      image: async () => false,
    },
  };
  databaseRoutes(app, deps);
  eventRoutes(app, deps);
  notificationRoutes(app, deps);
  regionRoutes(app, deps);
  openapiRoutes(app);
  return app;
}

/** The operator's interface listens on an address of its own, which the front does not serve. */
export function createOperatorApi(log: Log, deps: OperatorDeps): FastifyInstance {
  const app = createServer(log);
  app.get("/health", async () => ({ status: "ok" }));
  operatorRoutes(app, deps);
  return app;
}
