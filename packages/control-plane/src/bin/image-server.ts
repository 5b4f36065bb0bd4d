import { sql } from "kysely";
import { createImageServer, createImageServerMetrics } from "#image-server/index.ts";
import { imageStoresOf } from "#images/index.ts";
import { systemClock } from "#platform/clock.ts";
import { readImageServerConfig } from "#platform/config.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { createMetrics, serveMetrics } from "#platform/telemetry/metrics.ts";
import { startTracing } from "#platform/telemetry/tracing.ts";

const CONNECTIONS = 4;

const config = readImageServerConfig();
const log = createLog("image-server", config.LOG_LEVEL);
const pool = createPool(config.DATABASE_URL, CONNECTIONS);
pool.on("error", (error) => log.warn({ err: error }, "idle database connection lost"));
const db = createDb(pool);
const metrics = createMetrics("image-server");
const settings = { endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT, share: config.OTEL_TRACES_SAMPLER_ARG };
const tracing = await startTracing("image-server", settings, log);
tracing?.watchPool(pool);
const stores = imageStoresOf(config);
const app = createImageServer(
  {
    db,
    clock: systemClock,
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
  await db.destroy();
  await tracing?.close();
});
