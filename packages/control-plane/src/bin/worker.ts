import { announceSteps } from "@moorage/crash-points";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { createAuthSweep } from "#auth/sweep.ts";
import { runSteps } from "#billing/end-run.ts";
import { createInvoiceActivities } from "#billing/invoice-activities.ts";
import { createMonthEndChore, monthEndSteps } from "#billing/month-end.ts";
import { createWhenCancelled } from "#account/index.ts";
import { composeBase, composeSealer, composeTelemetry } from "../compose.ts";
import { composeProvider } from "../compose-payments.ts";
import {
  createBackupActivities,
  createBackupExpiry,
  createChangeActivities,
  createChangeExpiry,
  closedAccountSteps,
  createClosedAccountsChore,
  createDailyPointsChore,
  createDatabaseActivities,
  createDatabaseExpiry,
  createFindingsChore,
  createHealthActivities,
  createHealthChore,
  createHealthExpiry,
  findingSteps,
  healthSteps,
  createKeepersChore,
  createNameActivities,
  createNamesChore,
  createObjectsChore,
  createPatchChore,
  createPurgeChore,
  createReleaseChore,
  createTailsChore,
  createTimelineActivities,
  createTimelineExpiry,
  dailyPointSteps,
  keeperSteps,
  objectsSteps,
  patchSteps,
  purgeSteps,
  startPromoting,
  tailSteps,
} from "#databases/index.ts";
import { createEventPartitionsChore } from "#events/index.ts";
import { createFleetActivities } from "#fleet/index.ts";
import { createProveCurrentChore } from "#fleet/prove-current.ts";
import { createLoginSweep } from "#identity/index.ts";
import {
  beginSteps,
  clearSteps,
  copySteps,
  createCaptureActivities,
  createCaptureExpiry,
  createClearImagesChore,
  createEndImages,
  createImportActivities,
  createImportExpiry,
  createRemoveImagesChore,
  createSweepImagesChore,
  endImagesSteps,
  hintRoute,
  imageSettingsOf,
  imageStoresOf,
  removeSteps,
  requireImporter,
  runImporter,
  startCopying,
  startLookout,
  sweepSteps,
} from "#images/index.ts";
import { createMailSweep } from "#mail/mail-sweep.ts";
import { createSender, startSending } from "#mail/send-mails.ts";
import { createPowerDns } from "#names/index.ts";
import { relaySteps, startRelay } from "#operations/relay.ts";
import { startSweeper } from "#operations/sweeper.ts";
import { TASK_QUEUE } from "#operations/workflow-id.ts";
import {
  chargeSteps,
  createChargeChore,
  createProviderEventSweep,
  openInvoiceCharges,
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
  createStaleTransfersChore,
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
const databaseActivities = createDatabaseActivities(activityDeps);
const changeActivities = createChangeActivities(activityDeps);
const backupActivities = createBackupActivities(activityDeps);
const timelineActivities = createTimelineActivities(activityDeps);
const hostSilentSeconds = config.MOORAGE_HOST_SILENT_SECONDS;
const healthActivities = createHealthActivities({ ...activityDeps, hostSilentSeconds });
const names = createPowerDns({
  url: required(config, "MOORAGE_DNS_URL"),
  key: required(config, "MOORAGE_DNS_KEY"),
  zone,
});
const objects = objectsOf(config);
const imageStores = imageStoresOf(config);
const imageDeps = { db, clock, log, images: imageSettingsOf(config), imageStores };
const importActivities = createImportActivities({ ...imageDeps, runImporter });
const captureActivities = createCaptureActivities(imageDeps);
const nameDeps = { db, clock, names, zone };
const activities = {
  ...databaseActivities,
  ...changeActivities,
  ...backupActivities,
  ...timelineActivities,
  ...healthActivities,
  ...createTransferActivities(activityDeps),
  ...importActivities,
  ...createNameActivities(nameDeps),
  ...createFleetActivities({ db }),
  ...captureActivities,
  ...createInvoiceActivities({ db, clock, afterInvoices: openInvoiceCharges }),
};
const choreSteps = [
  ...[
    ...dailyPointSteps,
    ...patchSteps,
    ...keeperSteps,
    ...objectsSteps,
    ...tailSteps,
    ...purgeSteps,
    ...findingSteps,
    ...healthSteps,
    ...staleSteps,
  ],
  ...[...beginSteps, ...removeSteps, ...clearSteps, ...sweepSteps, ...copySteps],
  ...[...closedAccountSteps, ...endImagesSteps, ...monthEndSteps, ...runSteps, ...chargeSteps],
];
announceSteps("worker", [...Object.keys(activities).map(activityStep), ...Object.keys(relaySteps), ...choreSteps]);

// These need no worker: they go on while Temporal is down, and find it again when it is back.
const relay = startRelay({ db, databaseUrl: config.DATABASE_URL, temporal, clock, log });
const sweeper = startSweeper({
  db,
  temporal,
  clock,
  log,
  expire: {
    ...createDatabaseExpiry(databaseActivities),
    ...createChangeExpiry(changeActivities),
    ...createBackupExpiry(backupActivities),
    ...createTimelineExpiry(timelineActivities),
    ...createHealthExpiry(healthActivities),
    ...createTransferExpiry(activityDeps),
    ...createImportExpiry(importActivities),
    ...createCaptureExpiry(captureActivities),
  },
  everySeconds: config.MOORAGE_SWEEP_SECONDS,
  chores: [
    createProveCurrentChore({ db, clock }),
    createReleaseChore({ db, clock }),
    createPatchChore({ db, clock, changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS }),
    createClosedAccountsChore({
      ...{ db, clock, deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS },
      undeleteDays: config.MOORAGE_UNDELETE_DAYS,
      endOthers: createEndImages({ db, clock }),
    }),
    createFindingsChore({ db, clock }),
    createHealthChore({
      ...{ db, clock, hostSilentSeconds, changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS },
      restoreDeadlineSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
    }),
    createEventPartitionsChore({ db, clock }),
    createIdempotencySweep({ db, clock }),
    createCardAttemptSweep({ db, clock }),
    createMailSweep({ db, clock }),
    createLoginSweep({ db, clock }),
    createAuthSweep({ db, clock }),
    createDailyPointsChore({ db, clock, dailyBackupsKept: config.MOORAGE_DAILY_BACKUPS_KEPT }),
    createMonthEndChore({
      ...{ db, clock, temporal },
      invoiceDelaySeconds: config.MOORAGE_INVOICE_DELAY_SECONDS,
      accountsEach: config.MOORAGE_INVOICE_RUN_ACCOUNTS,
    }),
    createChargeChore({
      ...{ db, clock, log, provider: composeProvider(config) },
      whenSettled: { cancel: createWhenCancelled({ closedAccountDays: config.MOORAGE_CLOSED_ACCOUNT_DAYS }) },
    }),
    createProviderEventSweep({ db, clock }),
    createStaleTransfersChore({ db, clock, sealer }),
    createNamesChore(nameDeps),
    createKeepersChore({ db, clock, log }),
    createObjectsChore({ db, clock, objects }),
    createTailsChore({ db, clock, objects }),
    createPurgeChore({ db, clock, objects }),
    createRemoveImagesChore(imageDeps),
    createClearImagesChore(imageDeps),
    createSweepImagesChore(imageDeps),
  ],
});
const promoting = startPromoting({ db, clock, log, hostSilentSeconds });
const lookout = startLookout(imageDeps);
const copying = startCopying(imageDeps);

const sending = startMail();
function startMail() {
  if (config.MOORAGE_SMTP_URL === undefined) {
    log.warn("MOORAGE_SMTP_URL is not set: letters wait. Hand links over with: moorage user password-link");
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

let wanted = true;
let worker: Worker | undefined;
const health = createServer(log);
health.get("/health", async (_request, reply) =>
  worker?.getState() === "RUNNING" ? { status: "ok" } : reply.status(503).send({ status: "waiting for Temporal" }),
);
hintRoute(health, lookout.hint);
serveMetrics(health, metrics);
await health.listen(config.MOORAGE_WORKER_LISTEN);
onShutdown(log, async () => {
  wanted = false;
  await Promise.all([relay.close(), sweeper.close(), sending?.close(), health.close()]);
  await Promise.all([promoting.close(), lookout.close(), copying.close()]);
  // The signal may have reached Temporal's runtime first.
  if (worker?.getState() === "RUNNING") worker.shutdown();
  await tracing?.close();
});

const workflowBundle =
  config.MOORAGE_WORKFLOW_BUNDLE === undefined ? await bundleWorkflows() : { codePath: config.MOORAGE_WORKFLOW_BUNDLE };
const connection = await connectWorker(config.TEMPORAL_ADDRESS, () => wanted);
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
