import { emit } from "#events/index.ts";
import { type Notice, raise, resolve } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "../../database-store.ts";
import { entityOf } from "../../entity.ts";
import { wakeHosts } from "../../desired-specs.ts";
import { type Health, isAtHand, judgeCluster } from "./cluster-health.ts";
import { openRepair } from "./open-repair.ts";
import { promoteSuccessor } from "./promote-successors.ts";
import { observeCluster } from "./observe-cluster.ts";
import { lockCluster, checkSilent, releaseFromDead, saveCluster } from "./check-store.ts";
import { saveLostTransactions } from "./lost-transactions-store.ts";
import { notifyChanges } from "./notify-changes.ts";
import { texts } from "./texts.ts";

export type HealthDeps = {
  db: Db;
  clock: Clock;
  hostSilentSeconds: number;
  changeDeadlineSeconds: number;
  /** The deadline of a replacement, which copies all data. */
  restoreDeadlineSeconds: number;
};

/** The steps at which a fault drill can kill the job. */
export const healthSteps = ["worker.check-cluster"] as const;

const BATCH = 100;
/** An unhealthy cluster is checked this often, even without new reports. */
const AGAIN_MS = 5_000;

/** Checks clusters with new reports or silent hosts, and starts the one repair that follows. */
export const createHealthJob = (deps: HealthDeps) => {
  const { db, clock } = deps;
  const since = clock();
  return async (): Promise<void> => {
    await checkSilent(db, clock());
    await releaseFromDead(db, clock());
    const due = await db
      .selectFrom("clusters")
      .select(["account_id", "database_id"])
      .where("check_at", "<=", clock())
      .orderBy("check_at")
      .limit(BATCH)
      .execute();
    for (const { account_id, database_id } of due) {
      const promoted = await transact(db, healthSteps[0], async (tx) => {
        const database = await lockDatabase(tx, account_id, database_id);
        const toWake = await promoteSuccessor(deps, tx, database, { now: clock(), since });
        await checkCluster(deps, tx, database, since);
        return toWake;
      });
      await wakeHosts(db, promoted);
    }
  };
};

async function checkCluster(deps: HealthDeps, tx: Tx, database: DatabaseRow, since: Date): Promise<void> {
  const now = deps.clock();
  const { account_id, id } = database;
  // Locked before anything is read: a report that arrives meanwhile causes the next check.
  const cluster = await lockCluster(tx, database);
  if (database.deleted_at !== null) return void (await saveCluster(tx, database, { check_at: null }));

  const seen = await observeCluster(tx, database, { now, since });
  // A recovery has not found all members again yet: the health is unknown, and nothing may be done.
  if (seen.members.length < database.cluster_size)
    return void (await saveCluster(tx, database, { check_at: new Date(now.getTime() + AGAIN_MS) }));
  const health = judgeCluster(seen, deps);
  const isIdle = isAtHand(database.status);
  if (health.status !== database.status)
    await saveDatabase(tx, account_id, id, { status: health.status, updated_at: now });
  if (seen.asynch !== undefined) await saveLostTransactions(tx, database, seen.members, now);
  if (isIdle) await notifyTenant(tx, database, { before: cluster.tenant_message, health }, now);
  await openRepair(deps, tx, database, health.next, now);
  const areAllNotified = await notifyChanges(tx, database, seen.members, deps, now);
  const isDone = (health.next.do === "nothing" && !seen.busy && areAllNotified) || isAtRest(database);
  await saveCluster(tx, database, {
    check_at: isDone ? null : new Date(now.getTime() + AGAIN_MS),
    ...(isIdle ? { tenant_message: health.tenant?.text ?? null, advice: health.operator?.text ?? null } : {}),
    ...(isIdle ? { degraded_since: health.status === "degraded" ? (cluster.degraded_since ?? now) : null } : {}),
  });
}

/** The database stays as it is until somebody requests a change. */
const isAtRest = ({ status, powered }: DatabaseRow): boolean => !powered || status === "failed";

/** Emits an event only when the sentence has changed. */
async function notifyTenant(
  tx: Tx,
  database: DatabaseRow,
  { before, health }: { before: string | null; health: Health },
  at: Date,
): Promise<void> {
  if ((health.tenant?.text ?? null) === before) return;
  const about = { accountId: database.account_id, entity: entityOf(database), cause: "health" };
  const event = { accountId: database.account_id, username: null, action: "database_degraded", at } as const;
  if (health.tenant === null) {
    await resolve(tx, about);
    await emit(tx, { ...event, status: "finished", entity: about.entity, message: texts.healthyAgain() });
    return;
  }
  const serves = health.healthy > 0;
  const notice: Notice = {
    type: "notice",
    severity: serves ? "major" : "critical",
    message: health.tenant,
    body: null,
    label: serves ? texts.degradedTitle() : texts.stoppedTitle(),
  };
  await raise(tx, about, notice, at);
  await emit(tx, { ...event, status: "notification", entity: about.entity, message: health.tenant });
}
