/**
 * Three servers that give the same answers, to measure the cost of each layer:
 *   bare     Fastify and the one statement, nothing else
 *   open     our API without authentication
 *   whole    our API
 * Prints its port.
 */
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { createTenantApi } from "../../packages/control-plane/src/api.ts";
import { composeBase, composeSealer, requestTimeouts } from "../../packages/control-plane/src/compose.ts";
import { createPrometheus } from "../../packages/control-plane/src/databases/api/view-metric.ts";
import { findDatabase } from "../../packages/control-plane/src/databases/model/database-store.ts";
import { createAuthenticate, createTokenCache } from "../../packages/control-plane/src/identity/index.ts";
import {
  createImageStores,
  imageLimitSettings,
  imageSettingsOf,
} from "../../packages/control-plane/src/images/index.ts";
import { readConfig, readKeyRing } from "../../packages/control-plane/src/platform/config.ts";
import { createDb, createPool } from "../../packages/control-plane/src/platform/db/database.ts";
import { createIdempotencySecrets } from "../../packages/control-plane/src/platform/http/idempotency.ts";
import { composeRateLimiter } from "../../packages/control-plane/src/platform/limits/rate-limiter.ts";
import { rateLimitSettings, valkeySettings } from "../../packages/control-plane/src/platform/limits/settings.ts";
import {
  databaseSettings,
  keyRingSettings,
  requestTimeoutSettings,
} from "../../packages/control-plane/src/platform/settings.ts";

const [mode = "whole", accountId = "0"] = process.argv.slice(2);
const config = readConfig({
  ...databaseSettings,
  ...requestTimeoutSettings,
  ...keyRingSettings,
  ...valkeySettings,
  ...rateLimitSettings,
  ...imageLimitSettings,
});
const { log, db, clock } = composeBase("bench", { ...config, LOG_LEVEL: "silent" }, requestTimeouts(config));

async function server() {
  if (mode === "bare") {
    const pool = createPool(config.DATABASE_URL);
    const text = await viewStatement();
    const app = Fastify();
    app.get<{ Params: { id: string } }>("/v4/databases/mysql/instances/:id", async (request) => {
      const { rows } = await pool.query({
        name: "view",
        text,
        values: [Number(accountId), Number(request.params.id)],
      });
      return rows[0] as object;
    });
    return app;
  }
  const tokens = createTokenCache(clock);
  tokens.open();
  const authenticate = createAuthenticate({ db, clock, tokens });
  const known = await authenticate(`Bearer ${process.env["MOORAGE_TOKEN"]}`);
  return createTenantApi(
    log,
    {
      db,
      clock,
      sealer: composeSealer(config),
      authenticate: mode === "open" ? async () => known : authenticate,
      nudgeRelay: () => {},
      provisionDeadlineSeconds: 1,
      changeDeadlineSeconds: 1,
      updateDeadlineSeconds: 1,
      deleteDeadlineSeconds: 1,
      backupDeadlineSeconds: 1,
      restoreDeadlineSeconds: 1,
      undeleteDays: 1,
      dailyBackupsKept: 2,
      existingCustomersOnly: false,
      sslConnectionIfOmitted: true,
      authUrl: undefined,
      publicUrl: undefined,
      zone: "moorage.test",
      databaseCa: "",
      prometheus: createPrometheus(undefined),
      issuer: { name: "Bench", address: [] },
      limiter: composeRateLimiter(config, log),
      idempotencySecrets: createIdempotencySecrets(readKeyRing(config)),
      log,
      provider: undefined,
      cardsRaw: false,
      invitationsPerDay: 500,
      cardsPerDay: 1,
      closedAccountDays: 1,
      surveyUrl: "",
      images: imageSettingsOf(config),
      imageStores: createImageStores({ none: { ...NO_STORE, access_key: "", secret_key: "" } }, 1),
    },
    { trustedProxies: false, maxInFlight: 500, maxLagMs: 500, drainMs: 0, check: async () => {} },
  );
}

/** The bench requests no image data. */
const NO_STORE = { regions: [], url: "http://127.0.0.1:9", region: "us-east-1", bucket: "images" };

/** The exact statement that our view runs, recorded on its way to the server. */
async function viewStatement(): Promise<string> {
  const seen = { text: "" };
  const pool = { query: async ({ text }: { text: string }) => ((seen.text = text), { rows: [] }) };
  await findDatabase(createDb(pool as never), 0, 0).catch(() => {});
  return seen.text;
}

const app = await server();
await app.listen({ host: "127.0.0.1", port: 0 });
console.log((app.server.address() as AddressInfo).port);
// Exits normally, so that a profile (`--cpu-prof`) is written.
process.on("SIGTERM", () => process.exit(0));
