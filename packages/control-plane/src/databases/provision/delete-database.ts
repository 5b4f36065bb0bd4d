import { findNodes, releaseNodes, setDesiredSpecs } from "#fleet/index.ts";
import { dropGrants, type Principal, releaseFromLimits } from "#identity/index.ts";
import { dropNotifications } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { notFound } from "#platform/errors.ts";
import { type Change, type Engine, inOperation, openWork } from "../changes/change.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "../model/database-store.ts";
import { requireActionAllowed } from "../model/database.ts";
import { entityOf } from "../model/entity.ts";
import { meterDatabase, usageOf } from "../model/usage.ts";
import { texts } from "../model/texts.ts";
import { stopDailyPoints } from "../model/timeline-store.ts";
import { tombstonesOf } from "../spec/desired-specs.ts";

const DAY_MS = 86_400_000;
const RELEASED_AT_ONCE = 100;

export type DeleteDeps = {
  db: Db;
  clock: Clock;
  nudgeRelay: () => void;
  deleteDeadlineSeconds: number;
  /** How long the operator can bring it back. */
  undeleteDays: number;
};

type Deletion = Pick<DeleteDeps, "deleteDeadlineSeconds" | "undeleteDays"> & {
  /** Null: no user requested it, it was due. */
  username: string | null;
  at: Date;
};

/**
 * Gone for the tenant with this transaction; tombstones remove its nodes, and its event ends when the hosts have done
 * so.
 */
export async function deleteDatabase(deps: DeleteDeps, by: Principal, id: number): Promise<void> {
  const { db, clock } = deps;
  await transact(db, "api.deleteMysqlDatabase", async (tx) => {
    const now = clock();
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    requireActionAllowed("delete", database.status);

    await openDeletion(tx, database, { ...deps, username: by.username, at: now });
  });
  deps.nudgeRelay();
}

/** The caller has locked the row, and knows that no operation is under way. */
export async function openDeletion(tx: Tx, database: DatabaseRow, requested: Deletion): Promise<void> {
  const { account_id: accountId, id } = database;
  const { at, username, deleteDeadlineSeconds, undeleteDays } = requested;
  const deleted = { deleted_at: at, purge_at: purgeTime(at, undeleteDays), updated_at: at };
  await saveDatabase(tx, accountId, id, deleted);
  await stopDailyPoints(tx, database);
  await dropGrants(tx, accountId, "database", id);
  await dropNotifications(tx, accountId, entityOf(database));
  await meterDatabase(tx, { ...database, ...deleted }, at);
  await openWork(tx, database, deletion, {
    username,
    at,
    deadlineSeconds: deleteDeadlineSeconds,
  });
}

/** When everything of a database that is deleted now is purged. */
export const purgeTime = (now: Date, undeleteDays: number): Date => new Date(now.getTime() + undeleteDays * DAY_MS);

export const deletion: Change = {
  kind: "deleteDatabase",
  audited: "delete_database",
  events: ["database_delete"],
  late: texts.deletionUnconfirmed,
  async end(tx, { database, plan }, _settlement, at) {
    const { account_id, id, cluster_size } = database;
    const nodes = await findNodes(tx, account_id, id);
    await releaseNodes(
      tx,
      nodes.map((node) => node.id),
      at,
    );
    await releaseFromLimits(tx, account_id, usageOf(plan, cluster_size));
    return undefined;
  },
};

export const createDeleteActivities = (engine: Engine) => ({
  /** A tombstone is the only way to remove a node. */
  setTombstones: (operationId: number): Promise<void> =>
    inOperation(engine, operationId, async (tx, context) => {
      const nodes = await findNodes(tx, context.database.account_id, context.database.id);
      const tombstones = await tombstonesOf(tx, nodes, context);
      return { answer: undefined, ...(await setDesiredSpecs(tx, operationId, "gone", tombstones, { upTo: 100 })) };
    }),
});

/** Releases the room of nodes whose hosts confirm the deletion after its operation was given up. */
export const createReleaseJob = ({ db, clock, eachDue }: { db: Db; clock: Clock; eachDue: EachDue }) => {
  const each = eachDue("release", "node");
  return async (): Promise<void> => {
    const gone = await db
      .selectFrom("nodes")
      .leftJoin("operations", "operations.id", "nodes.waiting_operation_id")
      .select("nodes.id")
      .where("nodes.tombstoned", "=", true)
      .where("nodes.observed_state", "=", "gone")
      .where("nodes.released_at", "is", null)
      .where((is) => is.or([is("operations.id", "is", null), is("operations.settled_at", "is not", null)]))
      .orderBy("nodes.id")
      .limit(RELEASED_AT_ONCE + each.skipped())
      .execute();
    await each.run(gone, ({ id }) => db.transaction().execute((tx) => releaseNodes(tx, [id], clock())));
  };
};
