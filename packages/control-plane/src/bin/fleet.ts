import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HOST_CERTIFICATE_DAYS } from "@moorage/contract/agent";
import { announceReady } from "@moorage/contract/process";
import { announceSteps } from "@moorage/crash-points";
import { createArchiveCalls, createArchiveLock, createClusterSecretOf, createSecretsOf } from "#databases/index.ts";
import { createCertificateAuthority } from "#fleet/certificate-authority.ts";
import { gatewayRoutes, gatewaySteps } from "#fleet/gateway.ts";
import { addSharedCertificatesGauge } from "#fleet/host-sources.ts";
import { createWakeups } from "#fleet/poll-desired.ts";
import { createSamples } from "#fleet/samples.ts";
import { createCaptureCalls, imageStoresOf } from "#images/index.ts";
import { readConfig } from "#platform/config.ts";
import { createNudge, listen } from "#platform/db/notifications.ts";
import { createServer } from "#platform/http/server.ts";
import { objectsOf } from "#platform/objects.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { serveMetrics } from "#platform/telemetry/metrics.ts";
import { composeBase, composeSealer, composeTelemetry, jobTimeouts } from "../compose.ts";
import { processSettings } from "../process-settings.ts";

const config = readConfig(processSettings.fleet);
const base = composeBase("fleet", config, jobTimeouts(config));
const { log, db, clock } = base;
const { metrics, tracing } = await composeTelemetry("fleet", config, base);
addSharedCertificatesGauge(metrics.registry, base);
const reader =
  (folder: string) =>
  (file: string): string =>
    readFileSync(join(folder, file), "utf8");
const tls = reader(config.MOORAGE_FLEET_TLS_DIR);
const databaseCa = reader(config.MOORAGE_DATABASE_CA_DIR);
const sealer = composeSealer(config);
const objects = objectsOf(config);
const imageStores = imageStoresOf(config);
const closing = new AbortController();
const wakeups = createWakeups();
const samples = createSamples({ db, clock });
const hostListener = listen(config.DATABASE_URL, "host", log, {
  onNotification: (hostId) => wakeups.wake(hostId === "" ? "all" : Number(hostId)),
  onConnect: () => wakeups.wake("all"),
});

// A host that is not enrolled yet has no certificate: each route decides whether it requires one.
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
  sealer,
  certificateDays: HOST_CERTIFICATE_DAYS,
  ca: await createCertificateAuthority(tls("ca.pem"), tls("ca.key")),
  databaseCa: await createCertificateAuthority(databaseCa("ca.pem"), databaseCa("ca.key")),
  wakeups,
  samples,
  nudgeRelay: createNudge(db, "relay", log),
  closing: closing.signal,
  secretsOf: createSecretsOf({ db, sealer }),
  clusterSecretOf: createClusterSecretOf({ db, sealer }),
  archive: createArchiveCalls({ db, clock, objects, lock: createArchiveLock(objects, config), sealer }),
  captures: createCaptureCalls({ db, clock, imageStores }),
});

metrics.watch(app);
tracing?.watch(app, { continues: true });
const scraped = createServer(log);
serveMetrics(scraped, metrics);
scraped.get("/databases", async (_request, reply) => reply.type("text/plain; version=0.0.4").send(samples.text()));

announceSteps("fleet", gatewaySteps);
await scraped.listen(config.MOORAGE_FLEET_METRICS_LISTEN);
await app.listen(config.MOORAGE_FLEET_LISTEN);
onShutdown(log, async () => {
  closing.abort();
  await Promise.all([app.close(), scraped.close()]);
  await hostListener.close();
  objects.close();
  imageStores.close();
  await base.close();
  await tracing?.close();
});
await announceReady(log);
