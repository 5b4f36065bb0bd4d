import type { DnsServer } from "#dns/index.ts";
import type { EachDue } from "#platform/each-due.ts";
import type { Log } from "#platform/log.ts";
import type { PurgingStore } from "#platform/purging-store.ts";
import type { WorkerPart } from "#platform/worker-part.ts";
import { type ChangeActivityDeps, createChangeActivities, createChangeExpiry, endSteps } from "./activities.ts";
import { archiverSteps, createArchiversJob } from "./archive/choose-archiver.ts";
import { createNeededCopiesJob, neededCopySteps } from "./archive/order-copy.ts";
import { createObjectsJob, objectsSteps } from "./archive/objects-job.ts";
import { createDailyPointsJob, dailyPointSteps } from "./backups/daily-points.ts";
import { createPurgeJob, purgeSteps } from "./backups/purge-job.ts";
import { createHealthJob, healthSteps } from "./clusters/health/check-clusters.ts";
import { createLostTransactionsJob, lostTransactionSteps } from "./clusters/health/lost-transactions.ts";
import { startPromoting } from "./clusters/health/promote-successors.ts";
import { createTombstonesJob, tombstoneSteps } from "./clusters/health/tombstone-replaced.ts";
import { alertSteps, createAlertsJob } from "./jobs/alerts-job.ts";
import { closedAccountSteps, createClosedAccountsJob } from "./jobs/closed-accounts-job.ts";
import { createDnsActivities, createDnsJob } from "./jobs/dns-activities.ts";
import { createLostHostsJob, lostHostSteps } from "./jobs/lost-hosts-job.ts";
import { createPatchJob, patchSteps } from "./jobs/patch-job.ts";
import { kinds } from "./table.ts";
import { createReleaseJob } from "./provision/delete-database.ts";

export type DatabasesWorkerDeps = ChangeActivityDeps & {
  log: Log;
  eachDue: EachDue;
  dnsServer: DnsServer;
  /** Archives: the worker deletes what is no longer needed, and reads or writes none. */
  archivePurge: PurgingStore;
  replacementsPerRegion: number;
  silentHostsPercent: number;
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
      health: {
        clusterHealth: createHealthJob(deps),
        lostHosts: createLostHostsJob({ ...deps, kinds, endChange: activities.endChange }),
      },
      rows: {
        release: createReleaseJob(deps),
        patches: createPatchJob(deps),
        closedAccounts: createClosedAccountsJob(deps),
        alerts: createAlertsJob(deps),
        dailyPoints: createDailyPointsJob(deps),
        archivers: createArchiversJob(deps),
        neededCopies: createNeededCopiesJob(deps),
        tombstones: createTombstonesJob(deps),
      },
      remote: {
        dns: createDnsJob(deps),
        objects: createObjectsJob(deps),
        lostTransactions: createLostTransactionsJob(deps),
        purge: createPurgeJob(deps),
      },
    },
    start: () => [startPromoting(deps)],
    steps: [
      ...endSteps,
      ...patchSteps,
      ...closedAccountSteps,
      ...alertSteps,
      ...healthSteps,
      ...lostHostSteps,
      ...dailyPointSteps,
      ...archiverSteps,
      ...neededCopySteps,
      ...objectsSteps,
      ...lostTransactionSteps,
      ...tombstoneSteps,
      ...purgeSteps,
    ],
  } satisfies WorkerPart;
}
