import type { DnsServer } from "#dns/index.ts";
import type { Log } from "#platform/log.ts";
import type { Objects } from "#platform/objects.ts";
import type { WorkerPart } from "#platform/worker-part.ts";
import { alertSteps, createAlertsJob } from "./alerts-job.ts";
import { archiverSteps, createArchiversJob } from "./archive/choose-archiver.ts";
import { createObjectsJob, objectsSteps } from "./archive/objects-job.ts";
import { createPurgeJob, purgeSteps } from "./archive/purge-job.ts";
import { createDailyPointsJob, dailyPointSteps } from "./backups/daily-points.ts";
import { type ChangeActivityDeps, createChangeActivities } from "./changes/activities.ts";
import { createChangeExpiry, endSteps } from "./changes/end-change.ts";
import { closedAccountSteps, createClosedAccountsJob } from "./closed-accounts/job.ts";
import { createHealthJob, healthSteps } from "./clusters/health/check-clusters.ts";
import { createLostTransactionsJob, lostTransactionSteps } from "./clusters/health/lost-transactions-job.ts";
import { startPromoting } from "./clusters/health/promote-successors.ts";
import { createReleaseJob } from "./delete-activities.ts";
import { createDnsActivities, createDnsJob } from "./dns-activities.ts";
import { createPatchJob, patchSteps } from "./patch-job.ts";

export type DatabasesWorkerDeps = ChangeActivityDeps & {
  log: Log;
  dnsServer: DnsServer;
  objects: Objects;
  changeDeadlineSeconds: number;
  restoreDeadlineSeconds: number;
  deleteDeadlineSeconds: number;
  undeleteDays: number;
  dailyBackupsKept: number;
  /** Ends the other resources of a closed account. */
  endOthers: Parameters<typeof createClosedAccountsJob>[0]["endOthers"];
};

export function databasesWorker(deps: DatabasesWorkerDeps) {
  const activities = { ...createChangeActivities(deps), ...createDnsActivities(deps) };
  return {
    activities,
    expire: createChangeExpiry(activities),
    jobs: {
      release: createReleaseJob(deps),
      patches: createPatchJob(deps),
      closedAccounts: createClosedAccountsJob(deps),
      alerts: createAlertsJob(deps),
      clusterHealth: createHealthJob(deps),
      dailyPoints: createDailyPointsJob(deps),
      dns: createDnsJob(deps),
      archivers: createArchiversJob(deps),
      objects: createObjectsJob(deps),
      lostTransactions: createLostTransactionsJob(deps),
      purge: createPurgeJob(deps),
    },
    start: () => [startPromoting(deps)],
    steps: [
      ...endSteps,
      ...patchSteps,
      ...closedAccountSteps,
      ...alertSteps,
      ...healthSteps,
      ...dailyPointSteps,
      ...archiverSteps,
      ...objectsSteps,
      ...lostTransactionSteps,
      ...purgeSteps,
    ],
  } satisfies WorkerPart;
}
