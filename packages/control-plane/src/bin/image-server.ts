import { announceReady } from "@moorage/contract/process";
import { sql } from "kysely";
import { createImageServer, createImageServerMetrics } from "#image-server/index.ts";
import { imageStoresOf } from "#images/index.ts";
import { readConfig } from "#platform/config.ts";
import { createDatabaseClock } from "#platform/db/database-clock.ts";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { addClockGauge } from "#platform/telemetry/clock-gauge.ts";
import { createMetrics, serveMetrics } from "#platform/telemetry/metrics.ts";
import { startTracing } from "#platform/telemetry/tracing.ts";
import { composeDatabase, requestTimeouts } from "../compose.ts";
import { processSettings } from "../process-settings.ts";

const CONNECTIONS = 4;

const config = readConfig(processSettings["image-server"]);
const log = createLog("image-server", config.LOG_LEVEL);
const { pool, db } = composeDatabase(config.DATABASE_URL, log, requestTimeouts(config), CONNECTIONS);
const databaseClock = createDatabaseClock(db, log);
const metrics = createMetrics("image-server");
addClockGauge(metrics.registry, databaseClock);
const settings = { endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT, share: config.OTEL_TRACES_SAMPLER_ARG };
const tracing = await startTracing("image-server", settings, log);
tracing?.watchPool(pool);
await databaseClock.start();
const stores = imageStoresOf(config);
const app = createImageServer(
  {
    db,
    clock: databaseClock.clock,
    log,
    stores,
    metrics: createImageServerMetrics(metrics.registry),
    key: config.MOORAGE_IMAGE_SERVER_KEY,
    region: config.MOORAGE_IMAGE_SERVER_REGION,
  },
  {
    streams: config.MOORAGE_IMAGE_SERVER_STREAMS,
    noticeMs: config.MOORAGE_DRAIN_NOTICE_SECONDS * 1000,
    drainMs: config.MOORAGE_DRAIN_SECONDS * 1000,
    check: () => sql`select 1`.execute(db),
  },
);
metrics.watch(app);
tracing?.watch(app);
const scraped = createServer(log);
serveMetrics(scraped, metrics);

await scraped.listen(config.MOORAGE_IMAGE_SERVER_METRICS_LISTEN);
await app.listen(config.MOORAGE_IMAGE_SERVER_LISTEN);
onShutdown(log, async () => {
  await Promise.all([app.close(), scraped.close()]);
  stores.close();
  databaseClock.close();
  await db.destroy();
  await tracing?.close();
});
await announceReady(log);
