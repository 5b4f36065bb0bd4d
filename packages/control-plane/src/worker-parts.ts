import { createWhenCancelled } from "#account/index.ts";
import { createAuthSweep } from "#auth/sweep.ts";
import { createInvoiceActivities } from "#billing/invoice-activities.ts";
import { createMonthEndJob, type MonthEndDeps, monthEndSteps } from "#billing/month-end.ts";
import { runSteps } from "#billing/run-billing-batch.ts";
import { type DatabasesWorkerDeps, databasesWorker } from "#databases/index.ts";
import { createEventPartitionsJob } from "#events/index.ts";
import { createFleetActivities } from "#fleet/index.ts";
import { createProveCurrentJob } from "#fleet/prove-current.ts";
import { createLoginSweep } from "#identity/index.ts";
import { createEndImages, imagesWorker } from "#images/index.ts";
import { createMailSweep } from "#mail/mail-sweep.ts";
import {
  type ChargeDeps,
  chargeSteps,
  createCardAttemptSweep,
  createChargeJob,
  createProviderEventSweep,
  scheduleAutopay,
} from "#payments/index.ts";
import { createIdempotencySweep } from "#platform/http/idempotency-sweep.ts";
import type { WorkerPart } from "#platform/worker-part.ts";
import {
  createStaleTransfersJob,
  createTransferActivities,
  createTransferExpiry,
  staleSteps,
} from "#transfers/index.ts";

export type WorkerDeps = Omit<DatabasesWorkerDeps, "endOthers"> &
  Parameters<typeof imagesWorker>[0] &
  MonthEndDeps &
  Pick<ChargeDeps, "provider"> & { closedAccountDays: number };

/** Everything that a worker does, by capability. */
export const workerParts = (deps: WorkerDeps) =>
  ({
    databases: databasesWorker({ ...deps, endOthers: createEndImages(deps) }),
    images: imagesWorker(deps),
    transfers: {
      activities: createTransferActivities(deps),
      expire: createTransferExpiry(deps),
      jobs: { staleTransfers: createStaleTransfersJob(deps) },
      steps: staleSteps,
    },
    fleet: { activities: createFleetActivities(deps), jobs: { proveCurrent: createProveCurrentJob(deps) } },
    billing: {
      activities: createInvoiceActivities({ ...deps, afterInvoices: scheduleAutopay }),
      jobs: { monthEnd: createMonthEndJob(deps) },
      steps: [...monthEndSteps, ...runSteps],
    },
    payments: {
      jobs: {
        charges: createChargeJob({ ...deps, whenSettled: { cancel: createWhenCancelled(deps) } }),
        providerEvents: createProviderEventSweep(deps),
        cardAttempts: createCardAttemptSweep(deps),
      },
      steps: chargeSteps,
    },
    housekeeping: {
      jobs: {
        eventPartitions: createEventPartitionsJob(deps),
        idempotencyKeys: createIdempotencySweep(deps),
        mails: createMailSweep(deps),
        logins: createLoginSweep(deps),
        authRecords: createAuthSweep(deps),
      },
    },
  }) satisfies Record<string, WorkerPart>;
