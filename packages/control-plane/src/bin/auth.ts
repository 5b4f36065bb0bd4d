import { announceReady } from "@moorage/contract/process";
import { readConfig, readKeyRing } from "#platform/config.ts";
import { createServer } from "#platform/http/server.ts";
import { composeRateLimiter } from "#platform/limits/rate-limiter.ts";
import { composeSharedLimits } from "#platform/limits/shared-limits.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { serveMetrics } from "#platform/telemetry/metrics.ts";
import { createThrottle } from "#sign-in/index.ts";
import { createAuthServer } from "../auth.ts";
import { composeBase, composeSealer, composeServing, composeTelemetry, requestTimeouts } from "../compose.ts";
import { processSettings } from "../process-settings.ts";

const config = readConfig(processSettings.auth);
const base = composeBase("auth", config, requestTimeouts(config));
const { log, db, clock } = base;
const { metrics, tracing } = await composeTelemetry("auth", config, base);
const limiter = composeRateLimiter(config, log);
const throttle = createThrottle({ shared: composeSharedLimits(config, log), log });
const app = await createAuthServer(
  log,
  {
    db,
    clock,
    sealer: composeSealer(config),
    keyRing: readKeyRing(config),
    limiter,
    throttle,
    authUrl: config.MOORAGE_AUTH_URL,
    publicUrl: config.MOORAGE_PUBLIC_URL,
  },
  composeServing(config, base),
);
metrics.watch(app);
tracing?.watch(app);
// On a separate address: metrics are not public.
const scraped = createServer(log);
serveMetrics(scraped, metrics);

await scraped.listen(config.MOORAGE_AUTH_METRICS_LISTEN);
await app.listen(config.MOORAGE_AUTH_LISTEN);
onShutdown(log, async () => {
  await Promise.all([app.close(), scraped.close()]);
  limiter.close();
  throttle.close();
  await base.close();
  await tracing?.close();
});
await announceReady(log);
