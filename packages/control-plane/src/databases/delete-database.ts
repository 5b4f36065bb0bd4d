import { dropGrants, type Principal } from "#identity/index.ts";
import { dropNotifications } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";
import { requireActionAllowed } from "./database.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "./database-store.ts";
import { deletion } from "./delete-activities.ts";
import { entityOf } from "./entity.ts";
import { meterDatabase } from "./meter-database.ts";
import { openWork } from "./changes/open-work.ts";
import { stopDailyPoints } from "./timeline-store.ts";

const DAY_MS = 86_400_000;

/** When everything of a database that is deleted now is purged. */
export const purgeTime = (now: Date, undeleteDays: number): Date => new Date(now.getTime() + undeleteDays * DAY_MS);

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
