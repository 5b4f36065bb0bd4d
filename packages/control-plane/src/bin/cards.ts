import { announceReady } from "@moorage/contract/process";
import { createCardsServer, createHttpCardAdmission, requireNoCoreDumps } from "#cards/index.ts";
import { createStripe, createStripeVault } from "#payment-provider/index.ts";
import { systemClock } from "#platform/clock.ts";
import { readConfig } from "#platform/config.ts";
import { withoutText } from "#platform/http/request-log.ts";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { createMetrics, serveMetrics } from "#platform/telemetry/metrics.ts";
import { startTracing } from "#platform/telemetry/tracing.ts";
import { processSettings } from "../process-settings.ts";

const config = readConfig(processSettings.cards);
const log = createLog("cards", config.LOG_LEVEL);
requireNoCoreDumps();
// Node would print the error with all of its data.
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error: unknown) => {
    log.fatal(error instanceof Error ? withoutText(error) : {}, event);
    process.exit(1);
  });

const metrics = createMetrics("cards");
const settings = { endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT, share: config.OTEL_TRACES_SAMPLER_ARG };
const tracing = await startTracing("cards", settings, log);
const key = config.MOORAGE_STRIPE_KEY;
const app = createCardsServer(
  {
    cardAdmission: createHttpCardAdmission({
      url: config.MOORAGE_CARDS_ADMISSION_URL,
      key: config.MOORAGE_CARDS_ADMISSION_KEY,
    }),
    vault:
      config.MOORAGE_PAYMENT_PROVIDER === undefined || key === undefined
        ? undefined
        : createStripeVault(createStripe({ key, url: config.MOORAGE_STRIPE_URL })),
    clock: systemClock,
    log,
  },
  {
    trustedProxies: config.MOORAGE_TRUSTED_PROXIES ?? false,
    maxInFlight: config.MOORAGE_MAX_IN_FLIGHT,
    maxLagMs: config.MOORAGE_MAX_LAG_MS,
    noticeMs: config.MOORAGE_DRAIN_NOTICE_SECONDS * 1000,
    drainMs: config.MOORAGE_DRAIN_SECONDS * 1000,
  },
);
metrics.watch(app);
tracing?.watch(app);
const scraped = createServer(log);
serveMetrics(scraped, metrics);

await scraped.listen(config.MOORAGE_CARDS_METRICS_LISTEN);
await app.listen(config.MOORAGE_CARDS_LISTEN);
onShutdown(log, async () => {
  await Promise.all([app.close(), scraped.close()]);
  await tracing?.close();
});
await announceReady(log);
