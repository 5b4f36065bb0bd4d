import type { Text } from "@moorage/contract/texts";
import type { Selectable } from "kysely";
import { emit } from "#events/index.ts";
import { checkSilent, releaseReplaced, saveCheck } from "#fleet/index.ts";
import { type Notice, raise, resolve } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { DueRows, EachDue } from "#platform/each-due.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "../../model/database-store.ts";
import { entityOf } from "../../model/entity.ts";
import { wakeHosts } from "../../spec/desired-specs.ts";
import { type Health, isAtHand, judgeCluster } from "./cluster-health.ts";
import { SOLE_PRIMARY_CAUSE } from "./force-bootstrap.ts";
import { saveLostTransactions } from "./lost-transactions.ts";
import { notifyChanges } from "./notify-changes.ts";
import { observeCluster } from "./observe-cluster.ts";
import { openRepair } from "./open-repair.ts";
import { withdrawOrders } from "./withdraw-orders.ts";
import { promoteSuccessor } from "./promote-successors.ts";
import type { Held, ReplacementLimits } from "./replacement-limits.ts";
import { texts } from "./texts.ts";

/** The steps at which a fault drill can kill the job. */
export const healthSteps = ["worker.check-cluster"] as const;

const BATCH = 100;
/** An unhealthy cluster is checked this often, even without new reports. */
const AGAIN_MS = 5_000;
/**
 * Short, because a tenant may be waiting. Not kept in `check_at`: that also lets the primary's successor be promoted, which
 * must not wait for a check that fails.
 */
const BACK_OFF = { leastMs: AGAIN_MS, mostMs: 60_000 };

type Key = { account_id: number; id: number };

type HealthDeps = ReplacementLimits & {
  db: Db;
  clock: Clock;
  eachDue: EachDue;
  hostSilentSeconds: number;
  changeDeadlineSeconds: number;
  /** The deadline of a replacement, which copies all data. */
  restoreDeadlineSeconds: number;
};

/** Checks clusters with new reports or silent hosts, and starts the one repair that follows. */
export const createHealthJob = (deps: HealthDeps) => {
  const { db, clock } = deps;
  const since = clock();
  const clusters = deps.eachDue("clusterHealth", "database", BACK_OFF);
  const dead = deps.eachDue("clusterHealth", "node");
  return async (): Promise<void> => {
    await checkSilent(db, clock());
    const due = await db
      .selectFrom("clusters")
      .select(["account_id", "database_id as id"])
      .where("check_at", "<=", clock())
      .orderBy("check_at")
      .limit(BATCH + clusters.skipped())
      .execute();
    await clusters.run(due, async ({ account_id, id }) => {
      const toWake = await transact(db, healthSteps[0], async (tx) => {
        const database = await lockDatabase(tx, account_id, id);
        const promoted = await promoteSuccessor(deps, tx, database, { now: clock(), since });
        const withdrawn = await withdrawOrders(deps, tx, database, { now: clock(), since });
        await checkCluster(deps, tx, database, since);
        return { hosts: [...promoted.hosts, ...withdrawn.hosts] };
      });
      await wakeHosts(db, toWake);
    });
    await releaseFromDead(db, dead, clock());
  };
};

/** Dead hosts will not confirm that their nodes are gone. */
async function releaseFromDead(db: Db, each: DueRows, now: Date): Promise<void> {
  const dead = await db
    .selectFrom("nodes")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .select("nodes.id")
    .where("nodes.replaced_at", "is not", null)
    .where("nodes.released_at", "is", null)
    .where("nodes.tombstoned", "=", true)
    .where("hosts.state", "=", "dead")
    .limit(BATCH + each.skipped())
    .execute();
  await each.run(dead, ({ id }) => db.transaction().execute((tx) => releaseReplaced(tx, id, now)));
}

async function checkCluster(deps: HealthDeps, tx: Tx, database: DatabaseRow, since: Date): Promise<void> {
  const now = deps.clock();
  const { account_id, id } = database;
  // Locked before anything is read: a report that arrives meanwhile causes the next check.
  const cluster = await lockCluster(tx, database);
  if (database.deleted_at !== null) return void (await saveCheck(tx, database, { check_at: null }));

  const seen = await observeCluster(tx, database, { now, since });
  // A recovery has not found all members again yet: the health is unknown, and nothing may be done.
  if (seen.members.length < database.cluster_size)
    return void (await saveCheck(tx, database, { check_at: new Date(now.getTime() + AGAIN_MS) }));
  const health = judgeCluster(seen, deps);
  const isIdle = isAtHand(database.status);
  if (health.status !== database.status)
    await saveDatabase(tx, account_id, id, { status: health.status, updated_at: now });
  if (seen.asynch !== undefined) await saveLostTransactions(tx, database, seen.members, now);
  if (isIdle) await notifyTenant(tx, database, { before: cluster.tenant_message, health }, now);
  const held = await openRepair(deps, tx, database, health.next, now);
  const advice = held === undefined ? health.operator : adviceOfHeld(held, database.region);
  const areAllNotified = await notifyChanges(tx, database, seen.members, deps, now);
  const isDone = (health.next.do === "nothing" && !seen.busy && areAllNotified) || isAtRest(database);
  await saveCheck(tx, database, {
    check_at: isDone ? null : new Date(now.getTime() + AGAIN_MS),
    ...(isIdle ? { tenant_message: health.tenant?.text ?? null, advice: advice?.text ?? null } : {}),
    ...(isIdle ? { degraded_since: health.status === "degraded" ? (cluster.degraded_since ?? now) : null } : {}),
  });
}

const adviceOfHeld = (held: Held, region: string): Text =>
  held.by === "limit"
    ? texts.adviceReplacementsLimited({ region, ...held })
    : texts.adviceHostsSilent({ region, ...held });

const lockCluster = (tx: Tx, { account_id, id }: Key): Promise<Selectable<Tables["clusters"]>> =>
  tx
    .selectFrom("clusters")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .forUpdate()
    .executeTakeFirstOrThrow();

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
    await resolve(tx, { ...about, cause: SOLE_PRIMARY_CAUSE });
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

/** The database stays as it is until somebody requests a change. */
const isAtRest = ({ status, powered }: DatabaseRow): boolean => !powered || status === "failed";
