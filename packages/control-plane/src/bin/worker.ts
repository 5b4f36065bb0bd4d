import { announceSteps } from "@moorage/crash-points";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { createAuthSweep } from "#auth/sweep.ts";
import { runSteps } from "#billing/run-billing-batch.ts";
import { createInvoiceActivities } from "#billing/invoice-activities.ts";
import { createMonthEndJob, monthEndSteps } from "#billing/month-end.ts";
import { createWhenCancelled } from "#account/index.ts";
import { composeBase, composeSealer, composeTelemetry } from "../compose.ts";
import { composeProvider } from "../compose-payments.ts";
import {
  createChangeActivities,
  createChangeExpiry,
  endSteps,
  closedAccountSteps,
  createClosedAccountsJob,
  createDailyPointsJob,
  createAlertsJob,
  createHealthJob,
  alertSteps,
  healthSteps,
  createArchiversJob,
  createDnsActivities,
  createDnsJob,
  createObjectsJob,
  createPatchJob,
  createPurgeJob,
  createReleaseJob,
  createLostTransactionsJob,
  dailyPointSteps,
  archiverSteps,
  objectsSteps,
  patchSteps,
  purgeSteps,
  startPromoting,
  lostTransactionSteps,
} from "#databases/index.ts";
import { createEventPartitionsJob } from "#events/index.ts";
import { createFleetActivities } from "#fleet/index.ts";
import { createProveCurrentJob } from "#fleet/prove-current.ts";
import { createLoginSweep } from "#identity/index.ts";
import {
  beginSteps,
  clearSteps,
  copySteps,
  createCaptureActivities,
  createCaptureExpiry,
  createClearImagesJob,
  createEndImages,
  createImportActivities,
  createImportExpiry,
  createRemoveImagesJob,
  createSweepImagesJob,
  endImagesSteps,
  hintRoute,
  imageSettingsOf,
  imageStoresOf,
  removeSteps,
  requireImporter,
  runImporter,
  startCopying,
  startUploadWatcher,
  sweepSteps,
} from "#images/index.ts";
import { createMailSweep } from "#mail/mail-sweep.ts";
import { createSender, startSending } from "#mail/send-mails.ts";
import { createPowerDns } from "#dns/index.ts";
import { relaySteps, startRelay } from "#operations/relay.ts";
import { startSweeper } from "#operations/sweeper.ts";
import { TASK_QUEUE } from "#operations/workflow-id.ts";
import {
  chargeSteps,
  createChargeJob,
  createProviderEventSweep,
  scheduleAutopay,
  createCardAttemptSweep,
} from "#payments/index.ts";
import { archiveSettingsOf, readConfig, required } from "#platform/config.ts";
import { createIdempotencySweep } from "#platform/http/idempotency-sweep.ts";
import { createServer } from "#platform/http/server.ts";
import { objectsOf } from "#platform/objects.ts";
import { onShutdown } from "#platform/shutdown.ts";
import { serveMetrics } from "#platform/telemetry/metrics.ts";
import { createPasswordLinks } from "#sign-in/password-links.ts";
import { countStarts } from "#platform/telemetry/workflow-starts.ts";
import { activityStep, activitySteps } from "#platform/temporal/activity-steps.ts";
import { bundleWorkflows } from "#platform/temporal/bundle.ts";
import { connectClient, connectWorker } from "#platform/temporal/connect.ts";
import { ensureNamespace } from "#platform/temporal/namespace.ts";
import { runWorker } from "#platform/temporal/run-worker.ts";
import {
  createStaleTransfersJob,
  createTransferActivities,
  createTransferExpiry,
  staleSteps,
} from "#transfers/index.ts";

const config = readConfig();
const base = composeBase("worker", config);
const { log, db, clock } = base;
const { metrics, tracing } = await composeTelemetry("worker", config, base);
Runtime.install({
  logger: new DefaultLogger("WARN", ({ message, meta: { error, ...meta } = {} }) =>
    log.warn({ ...meta, err: error }, message),
  ),
});

await requireImporter();
const temporal = countStarts(metrics.registry, await connectClient(config.TEMPORAL_ADDRESS, config.TEMPORAL_NAMESPACE));
const zone = config.MOORAGE_ZONE;
const sealer = composeSealer(config);
const activityDeps = { db, clock, zone, sealer, archive: archiveSettingsOf(config) };
const hostSilentSeconds = config.MOORAGE_HOST_SILENT_SECONDS;
const changeActivities = createChangeActivities({ ...activityDeps, hostSilentSeconds });
const dnsServer = createPowerDns({
  url: required(config, "MOORAGE_DNS_URL"),
  key: required(config, "MOORAGE_DNS_KEY"),
  zone,
});
const objects = objectsOf(config);
const imageStores = imageStoresOf(config);
const imageDeps = { db, clock, log, images: imageSettingsOf(config), imageStores };
const importActivities = createImportActivities({ ...imageDeps, runImporter });
const captureActivities = createCaptureActivities(imageDeps);
const dnsDeps = { db, clock, dnsServer, zone };
const activities = {
  ...changeActivities,
  ...createTransferActivities(activityDeps),
  ...importActivities,
  ...createDnsActivities(dnsDeps),
  ...createFleetActivities({ db }),
  ...captureActivities,
  ...createInvoiceActivities({ db, clock, afterInvoices: scheduleAutopay }),
};
const jobSteps = [
  ...[
    ...endSteps,
    ...dailyPointSteps,
    ...patchSteps,
    ...archiverSteps,
    ...objectsSteps,
    ...lostTransactionSteps,
    ...purgeSteps,
    ...alertSteps,
    ...healthSteps,
    ...staleSteps,
  ],
  ...[...beginSteps, ...removeSteps, ...clearSteps, ...sweepSteps, ...copySteps],
  ...[...closedAccountSteps, ...endImagesSteps, ...monthEndSteps, ...runSteps, ...chargeSteps],
];
announceSteps("worker", [...Object.keys(activities).map(activityStep), ...Object.keys(relaySteps), ...jobSteps]);

// These do not need Temporal: they continue while it is down, and reconnect when it is back.
const relay = startRelay({ db, databaseUrl: config.DATABASE_URL, temporal, clock, log });
const sweeper = startSweeper({
  db,
  temporal,
  clock,
  log,
  expire: {
    ...createChangeExpiry(changeActivities),
    ...createTransferExpiry(activityDeps),
    ...createImportExpiry(importActivities),
    ...createCaptureExpiry(captureActivities),
  },
  everySeconds: config.MOORAGE_SWEEP_SECONDS,
  jobs: [
    createProveCurrentJob({ db, clock }),
    createReleaseJob({ db, clock }),
    createPatchJob({ db, clock, changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS }),
    createClosedAccountsJob({
      ...{ db, clock, deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS },
      undeleteDays: config.MOORAGE_UNDELETE_DAYS,
      endOthers: createEndImages({ db, clock }),
    }),
    createAlertsJob({ db, clock }),
    createHealthJob({
      ...{ db, clock, hostSilentSeconds, changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS },
      restoreDeadlineSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
    }),
    createEventPartitionsJob({ db, clock }),
    createIdempotencySweep({ db, clock }),
    createCardAttemptSweep({ db, clock }),
    createMailSweep({ db, clock }),
    createLoginSweep({ db, clock }),
    createAuthSweep({ db, clock }),
    createDailyPointsJob({ db, clock, dailyBackupsKept: config.MOORAGE_DAILY_BACKUPS_KEPT }),
    createMonthEndJob({
      ...{ db, clock, temporal },
      invoiceDelaySeconds: config.MOORAGE_INVOICE_DELAY_SECONDS,
      accountsEach: config.MOORAGE_INVOICE_RUN_ACCOUNTS,
    }),
    createChargeJob({
      ...{ db, clock, log, provider: composeProvider(config) },
      whenSettled: { cancel: createWhenCancelled({ closedAccountDays: config.MOORAGE_CLOSED_ACCOUNT_DAYS }) },
    }),
    createProviderEventSweep({ db, clock }),
    createStaleTransfersJob({ db, clock, sealer }),
    createDnsJob(dnsDeps),
    createArchiversJob({ db, clock, log }),
    createObjectsJob({ db, clock, objects }),
    createLostTransactionsJob({ db, clock, objects }),
    createPurgeJob({ db, clock, objects }),
    createRemoveImagesJob(imageDeps),
    createClearImagesJob(imageDeps),
    createSweepImagesJob(imageDeps),
  ],
});
const promoting = startPromoting({ db, clock, log, hostSilentSeconds });
const uploadWatcher = startUploadWatcher(imageDeps);
const copying = startCopying(imageDeps);

const sending = startMail();
function startMail() {
  if (config.MOORAGE_SMTP_URL === undefined) {
    log.warn("MOORAGE_SMTP_URL is not set: mails wait. Print password links with: moorage user password-link");
    return undefined;
  }
  const sender = createSender({
    ...{ db, clock, log, sealer, registry: metrics.registry },
    smtpUrl: config.MOORAGE_SMTP_URL,
    from: required(config, "MOORAGE_MAIL_FROM"),
    makePasswordLink: createPasswordLinks({ clock, authUrl: required(config, "MOORAGE_AUTH_URL") }),
  });
  return startSending(sender, log);
}

let running = true;
let worker: Worker | undefined;
const health = createServer(log);
health.get("/health", async (_request, reply) =>
  worker?.getState() === "RUNNING" ? { status: "ok" } : reply.status(503).send({ status: "waiting for Temporal" }),
);
hintRoute(health, uploadWatcher.hint);
serveMetrics(health, metrics);
await health.listen(config.MOORAGE_WORKER_LISTEN);
onShutdown(log, async () => {
  running = false;
  await Promise.all([relay.close(), sweeper.close(), sending?.close(), health.close()]);
  await Promise.all([promoting.close(), uploadWatcher.close(), copying.close()]);
  // The signal may have reached Temporal's runtime first.
  if (worker?.getState() === "RUNNING") worker.shutdown();
  await tracing?.close();
});

const workflowBundle =
  config.MOORAGE_WORKFLOW_BUNDLE === undefined ? await bundleWorkflows() : { codePath: config.MOORAGE_WORKFLOW_BUNDLE };
const connection = await connectWorker(config.TEMPORAL_ADDRESS, () => running);
await ensureNamespace(temporal, config.TEMPORAL_NAMESPACE);
worker = await Worker.create({
  connection,
  namespace: config.TEMPORAL_NAMESPACE,
  taskQueue: TASK_QUEUE,
  workflowBundle,
  activities,
  stickyQueueScheduleToStartTimeout: "3 seconds",
  interceptors: { activity: tracing === undefined ? [activitySteps] : [tracing.activities, activitySteps] },
});
await runWorker(worker);
await connection.close();
await db.destroy();
