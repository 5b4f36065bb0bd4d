import { announceSteps } from "@moorage/crash-points";
import { composeBase, composeSealer } from "../compose.ts";
import { apiSteps, databaseRoutes } from "#databases/index.ts";
import { eventRoutes } from "#events/index.ts";
import { createAuthenticate } from "#identity/index.ts";
import { operatorRoutes } from "#operator/index.ts";
import { readConfig, required } from "#platform/config.ts";
import { createNudge } from "#platform/db/notifications.ts";
import { createServer } from "#platform/http/server.ts";
import { onShutdown } from "#platform/shutdown.ts";

const config = readConfig();
const { log, db, clock } = composeBase("api", config);
const sealer = composeSealer(config);
const deps = {
  db,
  clock,
  sealer,
  authenticate: createAuthenticate(db, clock),
  nudgeRelay: createNudge(db, "relay", log),
  provisionDeadlineSeconds: config.MOORAGE_PROVISION_DEADLINE_SECONDS,
  deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS,
};

const tenants = createServer(log);
tenants.get("/health", async () => ({ status: "ok" }));
databaseRoutes(tenants, deps);
eventRoutes(tenants, deps);

// The operator's interface listens on an address of its own, which the front does not serve.
const operators = createServer(log);
operators.get("/health", async () => ({ status: "ok" }));
operatorRoutes(operators, { ...deps, operatorTokenSha256: required(config, "MOORAGE_OPERATOR_TOKEN_SHA256") });

announceSteps("api", apiSteps);
await tenants.listen(config.MOORAGE_API_LISTEN);
await operators.listen(config.MOORAGE_ADMIN_LISTEN);
onShutdown(log, async () => {
  await Promise.all([tenants.close(), operators.close()]);
  await db.destroy();
});
