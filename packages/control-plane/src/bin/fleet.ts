import { readFileSync } from "node:fs";
import { join } from "node:path";
import { announceSteps } from "@moorage/crash-points";
import { composeBase, composeSealer } from "../compose.ts";
import { createSecretsOf } from "#databases/index.ts";
import { createCertificateAuthority } from "#fleet/certificate-authority.ts";
import { gatewayRoutes, gatewaySteps } from "#fleet/gateway.ts";
import { createWakeups } from "#fleet/wakeups.ts";
import { readConfig, required } from "#platform/config.ts";
import { createNudge, listen } from "#platform/db/notifications.ts";
import { createServer } from "#platform/http/server.ts";
import { onShutdown } from "#platform/shutdown.ts";

const config = readConfig();
const { log, db, clock } = composeBase("fleet", config);
const tls = (file: string): string => readFileSync(join(required(config, "MOORAGE_FLEET_TLS_DIR"), file), "utf8");
const closing = new AbortController();
const wakeups = createWakeups();
const heard = listen(config.DATABASE_URL, "host", log, (hostId) =>
  wakeups.wake(hostId === "" ? "all" : Number(hostId)),
);

// A host that is not enrolled yet has no certificate: each route says whether it needs one.
const app = createServer(log, {
  https: {
    key: tls("server.key"),
    cert: tls("server.pem"),
    ca: tls("ca.pem"),
    requestCert: true,
    rejectUnauthorized: false,
  },
});
gatewayRoutes(app, {
  db,
  clock,
  ca: await createCertificateAuthority(tls("ca.pem"), tls("ca.key")),
  wakeups,
  nudgeRelay: createNudge(db, "relay", log),
  closing: closing.signal,
  secretsOf: createSecretsOf({ db, sealer: composeSealer(config) }),
});

announceSteps("fleet", gatewaySteps);
await app.listen(config.MOORAGE_FLEET_LISTEN);
onShutdown(log, async () => {
  closing.abort();
  await app.close();
  await heard.close();
  await db.destroy();
});
