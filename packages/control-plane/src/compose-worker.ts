import type { SettingsOf } from "@moorage/contract/settings";
import type { Client } from "@temporalio/client";
import { createWhenCancelled } from "#account/index.ts";
import { createAuthSweep } from "#auth/sweep.ts";
import { createInvoiceActivities, runSteps } from "#billing/invoice-activities.ts";
import { createMonthEndJob, type MonthEndDeps, monthEndSteps } from "#billing/month-end.ts";
import { createLinkJob } from "#chains/index.ts";
import { databasesWorker, type DatabasesWorkerDeps } from "#databases/index.ts";
import { archiveSettings } from "#databases/model/settings.ts";
import { createPowerDns } from "#dns/index.ts";
import { createEventPartitionsJob } from "#events/index.ts";
import { createFleetActivities } from "#fleet/index.ts";
import { createProveCurrentJob } from "#fleet/prove-current.ts";
import { createLoginSweep } from "#identity/index.ts";
import { createEndImages, imageSettingsOf, imagesWorker, runImporter } from "#images/index.ts";
import { createMailSweep } from "#mail/mail-store.ts";
import {
  type ChargeDeps,
  chargeSteps,
  createCardAttemptSweep,
  createChargeJob,
  createProviderEventSweep,
  createReconcileCharges,
  scheduleAutopay,
} from "#payments/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { createIdempotencySweep } from "#platform/http/idempotency.ts";
import type { EachDue } from "#platform/each-due.ts";
import type { Log } from "#platform/log.ts";
import type { Sealer } from "#platform/seal.ts";
import type { WorkerPart } from "#platform/worker-part.ts";
import {
  createStaleTransfersJob,
  createTransferActivities,
  createTransferExpiry,
  staleSteps,
} from "#transfers/index.ts";
import { composeProvider } from "./compose-payments.ts";
import type { Stores } from "./compose-stores.ts";
import type { processSettings } from "./process-settings.ts";

type Given = Stores & { db: Db; clock: Clock; log: Log; temporal: Client; sealer: Sealer; eachDue: EachDue };

/** The parts of the worker with the settings of this installation. */
export function composeWorkerParts(config: SettingsOf<typeof processSettings.worker>, given: Given) {
  const zone = config.MOORAGE_ZONE;
  return workerParts({
    ...given,
    zone,
    archive: archiveSettings,
    images: imageSettingsOf(config),
    runImporter,
    dnsServer: createPowerDns({
      url: config.MOORAGE_DNS_URL,
      key: config.MOORAGE_DNS_KEY,
      zone,
    }),
    provider: composeProvider(config),
    hostSilentSeconds: config.MOORAGE_HOST_SILENT_SECONDS,
    replacementsPerRegion: config.MOORAGE_REPLACEMENTS_PER_REGION,
    silentHostsPercent: config.MOORAGE_SILENT_HOSTS_PERCENT,
    changeDeadlineSeconds: config.MOORAGE_CHANGE_DEADLINE_SECONDS,
    restoreDeadlineSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
    deleteDeadlineSeconds: config.MOORAGE_DELETE_DEADLINE_SECONDS,
    undeleteDays: config.MOORAGE_UNDELETE_DAYS,
    dailyBackupsKept: config.MOORAGE_DAILY_BACKUPS_KEPT,
    closedAccountDays: config.MOORAGE_CLOSED_ACCOUNT_DAYS,
    invoiceDelaySeconds: config.MOORAGE_INVOICE_DELAY_SECONDS,
    accountsEach: config.MOORAGE_INVOICE_RUN_ACCOUNTS,
  });
}

type WorkerDeps = Omit<DatabasesWorkerDeps, "endOthers"> &
  Parameters<typeof imagesWorker>[0] &
  MonthEndDeps &
  Pick<ChargeDeps, "provider"> & { closedAccountDays: number };

/** Everything that a worker does, by capability. */
export const workerParts = (deps: WorkerDeps) => {
  const charging = { ...deps, whenSettled: { cancel: createWhenCancelled(deps) } };
  return {
    databases: databasesWorker({ ...deps, endOthers: createEndImages(deps) }),
    images: imagesWorker(deps),
    transfers: {
      activities: createTransferActivities(deps),
      expire: createTransferExpiry(deps),
      jobs: { rows: { staleTransfers: createStaleTransfersJob(deps) } },
      steps: staleSteps,
    },
    fleet: { activities: createFleetActivities(deps), proofs: { proveCurrent: createProveCurrentJob(deps) } },
    billing: {
      activities: createInvoiceActivities({ ...deps, afterInvoices: scheduleAutopay }),
      // Temporal may hang.
      jobs: { remote: { monthEnd: createMonthEndJob(deps) } },
      steps: [...monthEndSteps, ...runSteps],
    },
    payments: {
      jobs: {
        rows: { providerEvents: createProviderEventSweep(deps), cardAttempts: createCardAttemptSweep(deps) },
        remote: { charges: createChargeJob(charging) },
      },
      proofs: { reconcileCharges: createReconcileCharges(charging) },
      steps: chargeSteps,
    },
    housekeeping: {
      jobs: {
        rows: {
          eventPartitions: createEventPartitionsJob(deps),
          idempotencyKeys: createIdempotencySweep(deps),
          mails: createMailSweep(deps),
          logins: createLoginSweep(deps),
          authRecords: createAuthSweep(deps),
          chains: createLinkJob(deps),
        },
      },
    },
  } satisfies Record<string, WorkerPart>;
};
