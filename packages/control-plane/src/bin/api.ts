import { announceReady } from "@moorage/contract/process";
import { announceSteps } from "@moorage/crash-points";
import { cancelSteps } from "#account/index.ts";
import { issuerOf } from "#billing/settings.ts";
import { apiSteps, createPrometheus } from "#databases/index.ts";
import { archiveSettings } from "#databases/model/settings.ts";
import { createAuthenticate, createTokenCache } from "#identity/index.ts";
import { imageServerAddressOf } from "#image-server/settings.ts";
import { imageApiSteps, imageSettingsOf, imageStoresOf } from "#images/index.ts";
import { chargeSteps } from "#payments/index.ts";
import { readConfig, readDatabaseCa, readKeyRing } from "#platform/config.ts";
import { createNudge, listen } from "#platform/db/notifications.ts";
import { createIdempotencySecrets } from "#platform/http/idempotency.ts";
import { composeRateLimiter } from "#platform/limits/rate-limiter.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { serveMetrics } from "#platform/telemetry/metrics.ts";
import { createPasswordLinks } from "#sign-in/choose-password.ts";
import { acceptSteps } from "#transfers/index.ts";
import { createCardAdmission, createOperatorApi, createTenantApi, type GivenDeps } from "../api.ts";
import { composeProvider } from "../compose-payments.ts";
import {
  composeBase,
  composeDatabase,
  composeSealer,
  composeServing,
  composeShare,
  composeTelemetry,
  jobTimeouts,
  requestTimeouts,
} from "../compose.ts";
import { processSettings } from "../process-settings.ts";

const OPERATOR_CONNECTIONS = 4;

const config = readConfig(processSettings.api);
const base = composeBase("api", config, requestTimeouts(config));
const { log, db, clock } = base;
const { metrics, tracing } = await composeTelemetry("api", config, base);
const sealer = composeSealer(config);
const tokens = createTokenCache(clock);
const listening = listen(config.DATABASE_URL, "identity", log, {
  onNotification: () => tokens.forget(),
  onConnect: () => tokens.open(),
  onDisconnect: () => tokens.close(),
});
const limiter = composeRateLimiter(config, log);
const serving = { ...composeServing(config, base), share: composeShare(config) };
const given: GivenDeps = {
  db,
  clock,
  log,
  sealer,
  authenticate: createAuthenticate({ db, clock, tokens }),
  nudgeRelay: createNudge(db, "relay", log),
  provisionDeadlineSeconds: config.MOORAGE_PROVISION_DEADLINE_SECONDS,
  updateDeadlineSeconds: config.MOORAGE_UPDATE_DEADLINE_SECONDS,
  changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS,
  deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS,
  restoreDeadlineSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
  undeleteDays: config.MOORAGE_UNDELETE_DAYS,
  backupDeadlineSeconds: config.MOORAGE_BACKUP_DEADLINE_SECONDS,
  dailyBackupsKept: config.MOORAGE_DAILY_BACKUPS_KEPT,
  existingCustomersOnly: config.MOORAGE_EXISTING_CUSTOMERS_ONLY,
  sslConnectionIfOmitted: config.MOORAGE_SSL_CONNECTION_IF_OMITTED,
  closedAccountDays: config.MOORAGE_CLOSED_ACCOUNT_DAYS,
  surveyUrl: config.MOORAGE_SURVEY_URL,
  publicUrl: config.MOORAGE_PUBLIC_URL,
  authUrl: config.MOORAGE_AUTH_URL,
  zone: config.MOORAGE_ZONE,
  databaseCa: readDatabaseCa(config),
  prometheus: createPrometheus(config.MOORAGE_PROMETHEUS_URL),
  limiter,
  issuer: issuerOf(config),
  idempotencySecrets: createIdempotencySecrets(readKeyRing(config)),
  provider: composeProvider(config),
  cardsRaw: config.MOORAGE_CARDS_RAW,
  invitationsPerDay: config.MOORAGE_INVITATIONS_PER_DAY,
  cardsPerDay: config.MOORAGE_CARDS_PER_DAY,
  images: imageSettingsOf(config),
  imageStores: imageStoresOf(config),
};
const tenants = createTenantApi(log, given, serving);
const admissionKey = config.MOORAGE_CARDS_ADMISSION_KEY;
const cardAdmission =
  admissionKey === undefined ? undefined : createCardAdmission(log, given, { ...serving, admissionKey });
// Tenants' requests cannot take the operator's connections, and the operator's commands may take longer.
const own = composeDatabase(config.DATABASE_URL, log, jobTimeouts(config), OPERATOR_CONNECTIONS);
tracing?.watchPool(own.pool);
const operators = createOperatorApi(log, {
  db: own.db,
  clock,
  sealer,
  zone: config.MOORAGE_ZONE,
  archive: archiveSettings,
  undeleteDays: config.MOORAGE_UNDELETE_DAYS,
  restoreDeadlineSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
  makePasswordLink:
    config.MOORAGE_AUTH_URL === undefined
      ? undefined
      : createPasswordLinks({ clock, authUrl: config.MOORAGE_AUTH_URL }),
  operatorTokenSha256: config.MOORAGE_OPERATOR_TOKEN_SHA256,
  imageServer: imageServerAddressOf(config),
  images: given.images,
});

for (const app of [tenants, operators, ...(cardAdmission === undefined ? [] : [cardAdmission])]) {
  metrics.watch(app);
  tracing?.watch(app);
}
serveMetrics(operators, metrics);

announceSteps("api", [...apiSteps, ...cancelSteps, ...acceptSteps, ...chargeSteps, ...imageApiSteps]);
await tenants.listen(config.MOORAGE_API_LISTEN);
await operators.listen(config.MOORAGE_ADMIN_LISTEN);
await cardAdmission?.listen(config.MOORAGE_CARDS_ADMISSION_LISTEN);
onShutdown(log, async () => {
  await Promise.all([tenants.close(), cardAdmission?.close(), operators.close(), listening.close()]);
  limiter.close();
  await Promise.all([base.close(), own.db.destroy()]);
  await tracing?.close();
});
await announceReady(log);
