import type { FastifyInstance } from "fastify";
import { type DatabaseRouteDeps, databaseRoutes } from "#databases/index.ts";
import { eventRoutes } from "#events/index.ts";
import { type OperatorDeps, operatorRoutes } from "#operator/index.ts";
import { createServer } from "#platform/http/server.ts";
import type { Log } from "#platform/log.ts";

/** The tenants' interface. */
export function createTenantApi(log: Log, deps: DatabaseRouteDeps): FastifyInstance {
  const app = createServer(log);
  app.get("/health", async () => ({ status: "ok" }));
  databaseRoutes(app, deps);
  eventRoutes(app, deps);
  return app;
}

/** The operator's interface listens on an address of its own, which the front does not serve. */
export function createOperatorApi(log: Log, deps: OperatorDeps): FastifyInstance {
  const app = createServer(log);
  app.get("/health", async () => ({ status: "ok" }));
  operatorRoutes(app, deps);
  return app;
}
