import { dropGrants, type Principal } from "#identity/index.ts";
import { dropNotifications } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";
import { requireActionAllowed } from "./database.ts";
import { lockDatabase, saveDatabase } from "./database-store.ts";
import { entityOf } from "./entity.ts";
import { openWork } from "./open-work.ts";
import { stopDailyPoints } from "./timeline-store.ts";

const DAY_MS = 86_400_000;

/** When nothing of a database that is deleted now remains. */
export const purgeTime = (now: Date, undeleteDays: number): Date => new Date(now.getTime() + undeleteDays * DAY_MS);

export type DeleteDeps = {
  db: Db;
  clock: Clock;
  nudgeRelay: () => void;
  deleteDeadlineSeconds: number;
  /** So long the operator can bring it back. */
  undeleteDays: number;
};

/** Gone for the tenant with this transaction; its hosts follow by tombstones, and its event ends when they have. */
export async function deleteDatabase(deps: DeleteDeps, by: Principal, id: number): Promise<void> {
  const { db, clock } = deps;
  await transact(db, "api.deleteMysqlDatabase", async (tx) => {
    const now = clock();
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    requireActionAllowed("delete", database.status);

    await saveDatabase(tx, by.accountId, id, {
      deleted_at: now,
      purge_at: purgeTime(now, deps.undeleteDays),
      updated_at: now,
    });
    await stopDailyPoints(tx, database);
    await dropGrants(tx, by.accountId, "database", id);
    await dropNotifications(tx, by.accountId, entityOf(database));
    await openWork(tx, database, {
      kind: "deleteDatabase",
      audited: "delete_database",
      events: ["database_delete"],
      username: by.username,
      at: now,
      deadlineSeconds: deps.deleteDeadlineSeconds,
    });
  });
  deps.nudgeRelay();
}
