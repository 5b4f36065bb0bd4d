import { dropNodeAlerts } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import type { Locked, PurgingStore } from "#platform/purging-store.ts";
import { databasePrefix } from "../archive/object-names.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { targetOf } from "../model/entity.ts";
import { findFamily } from "./apply-retention.ts";
import { needsOf } from "./retention.ts";

type Deps = { db: Db; clock: Clock; archivePurge: PurgingStore; eachDue: EachDue };
type Key = { account_id: number; id: number };

export const purgeSteps = ["worker.begin-purge", "worker.finish-purge"] as const;

const BATCH = 10;
const PUT_OFF_MS = 3_600_000;

/**
 * Deletes everything that is left of a deleted database after its retention. Repeatable at any point.
 */
export const createPurgeJob = (deps: Deps) => {
  const { db, clock } = deps;
  const each = deps.eachDue("purge", "database");
  return async (): Promise<void> => {
    const due = await db
      .selectFrom("databases")
      .select(["account_id", "id"])
      .where("purge_at", "<=", clock())
      .orderBy("purge_at")
      .limit(BATCH)
      .execute();
    await each.run(due, (key) => purge(deps, key), { putOff: (key, until, now) => putOff(db, key, until, now) });
  };
};

async function purge(deps: Deps, { account_id, id }: Key): Promise<unknown> {
  const { db, clock, archivePurge } = deps;
  if (!(await transact(db, "worker.begin-purge", (tx) => begin(tx, deps, account_id, id)))) return undefined;
  const locked = await archivePurge.deleteAll(databasePrefix(account_id, id));
  if (locked !== undefined) return putOff(db, { account_id, id }, soonest(locked, clock()), clock());
  return transact(db, "worker.finish-purge", (tx) => forget(tx, account_id, id, clock()));
}

/** The store keeps some of it until then. */
const soonest = ({ until }: Locked, now: Date): Date => new Date(Math.max(until.getTime(), now.getTime() + PUT_OFF_MS));

const putOff = (db: Db, { account_id, id }: Key, purge_at: Date, now: Date): Promise<unknown> =>
  db
    .updateTable("databases")
    .set({ purge_at })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("purge_at", "<=", now)
    .execute();

/** From here on there is no way back: a database without a timeline cannot be undeleted. */
async function begin(tx: Tx, { clock, archivePurge }: Deps, accountId: number, id: number): Promise<boolean> {
  const now = clock();
  const database = await lockDatabase(tx, accountId, id);
  if (database.deleted_at === null || database.purge_at === null || database.purge_at > now) return false;
  const quiet = new Date(now.getTime() - archivePurge.putSeconds * 1000);
  const isWaiting = database.deleted_at > quiet && (await isOnHosts(tx, database));
  if (isWaiting || (await isNeededByForks(tx, database, now))) {
    await setPurge(tx, database, { purge_at: new Date(now.getTime() + PUT_OFF_MS) });
    return false;
  }
  await setPurge(tx, database, { timeline_id: null });
  return true;
}

/** A host that has not removed the node yet may still use an upload address. */
async function isOnHosts(tx: Tx, { account_id, id }: DatabaseRow): Promise<boolean> {
  const node = await tx
    .selectFrom("nodes")
    .select("id")
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .where("released_at", "is", null)
    .executeTakeFirst();
  return node !== undefined;
}

/** A young fork has no copy of its own yet, and its old backups may start from this database's archive. */
async function isNeededByForks(tx: Tx, { account_id, id }: DatabaseRow, now: Date): Promise<boolean> {
  const family = await findFamily(tx, { accountId: account_id, databaseId: id });
  const own = new Set(family.timelines.filter(({ database_id }) => database_id === id).map((each) => each.id));
  if (own.size === family.timelines.length) return false;
  const needs = needsOf(
    {
      timelines: family.timelines.map((each) => (own.has(each.id) ? { ...each, ended_at: new Date(0) } : each)),
      copies: family.copies,
      backups: family.backups.filter(({ database_id }) => database_id !== id),
    },
    now,
  );
  if (family.copies.some((copy) => own.has(copy.timeline_id) && needs.copies.has(copy.id))) return true;
  const read = needs.logs.map(({ timeline }) => timeline).filter((timeline) => own.has(timeline));
  if (read.length === 0) return false;
  const log = await tx.selectFrom("binary_logs").select("name").where("timeline_id", "in", read).executeTakeFirst();
  return log !== undefined;
}

async function forget(tx: Tx, accountId: number, id: number, now: Date): Promise<void> {
  const database = await lockDatabase(tx, accountId, id);
  if (database.purge_at === null) return;
  const timelines = tx
    .selectFrom("timelines")
    .select("id")
    .where("account_id", "=", accountId)
    .where("database_id", "=", id);
  const nodes = tx.selectFrom("nodes").select("id").where("account_id", "=", accountId).where("database_id", "=", id);
  await tx.deleteFrom("backups").where("account_id", "=", accountId).where("database_id", "=", id).execute();
  await tx.deleteFrom("binary_logs").where("timeline_id", "in", timelines).execute();
  await tx.deleteFrom("copies").where("timeline_id", "in", timelines).execute();
  await tx.deleteFrom("lost_transactions").where("timeline_id", "in", timelines).execute();
  // The forks have copies of their own by now.
  await tx
    .updateTable("timelines")
    .set({ parent_id: null, parent_copy_id: null, parent_until: null })
    .where("parent_id", "in", timelines)
    .execute();
  await tx.deleteFrom("timelines").where("account_id", "=", accountId).where("database_id", "=", id).execute();
  await tx.deleteFrom("archives").where("account_id", "=", accountId).where("database_id", "=", id).execute();
  await tx.deleteFrom("keyrings").where("account_id", "=", accountId).where("node_id", "in", nodes).execute();
  await dropNodeAlerts(tx, accountId, id);
  await setPurge(tx, database, { purge_at: null });
  await audit(tx, { at: now, account: accountId, actor: "worker", action: "purge_database", target: targetOf(id) });
}

const setPurge = (
  tx: Tx,
  { account_id, id }: DatabaseRow,
  change: { purge_at: Date | null } | { timeline_id: null },
): Promise<unknown> =>
  tx.updateTable("databases").set(change).where("account_id", "=", account_id).where("id", "=", id).execute();
