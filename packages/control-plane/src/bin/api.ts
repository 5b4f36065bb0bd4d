import { announceSteps } from "@moorage/crash-points";
import { apiSteps } from "#databases/index.ts";
import { createAuthenticate } from "#identity/index.ts";
import { readConfig, required } from "#platform/config.ts";
import { createNudge } from "#platform/db/notifications.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { createOperatorApi, createTenantApi } from "../api.ts";
import { composeBase, composeSealer } from "../compose.ts";

const config = readConfig();
const { log, db, clock } = composeBase("api", config);
const sealer = composeSealer(config);
const tenants = createTenantApi(log, {
  db,
  clock,
  sealer,
  authenticate: createAuthenticate(db, clock),
  nudgeRelay: createNudge(db, "relay", log),
  provisionDeadlineSeconds: config.MOORAGE_PROVISION_DEADLINE_SECONDS,
  deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS,
});
const operators = createOperatorApi(log, {
  db,
  clock,
  sealer,
  operatorTokenSha256: required(config, "MOORAGE_OPERATOR_TOKEN_SHA256"),
});

announceSteps("api", apiSteps);
await tenants.listen(config.MOORAGE_API_LISTEN);
await operators.listen(config.MOORAGE_ADMIN_LISTEN);
onShutdown(log, async () => {
  await Promise.all([tenants.close(), operators.close()]);
  await db.destroy();
});
