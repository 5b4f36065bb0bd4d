import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "../model/database-store.ts";
import { nextWindow, windowAt } from "../model/maintenance-window.ts";
import { openChange } from "../updates/change-database.ts";
import { patchDatabase, pendingPatch } from "../updates/patch-database.ts";

export type PatchDeps = { db: Db; clock: Clock; eachDue: EachDue; changeDeadlineSeconds: number };

type Key = Pick<DatabaseRow, "account_id" | "id">;

/** Per sweep: most databases have the same window, and their hosts share disks. */
const BATCH = 100;
/** A patch that would end outside of the window does not start. */
const LEAST_SECONDS = 600;
/** The wait before a busy database is tried again. */
const AGAIN_SECONDS = 300;

/** The steps at which a fault drill can kill the job. */
export const patchSteps = ["worker.patchInWindow"] as const;

const after = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000);

/** Patches what is due, only inside the maintenance window; a missed patch waits for the next one. */
export const createPatchJob = (deps: PatchDeps) => {
  const { db, clock } = deps;
  const each = deps.eachDue("patches", "database");
  return async (): Promise<void> => {
    const due = await db
      .selectFrom("databases")
      .select(["account_id", "id"])
      .where("patch_due_at", "<=", clock())
      .where("deleted_at", "is", null)
      .orderBy("patch_due_at")
      .limit(BATCH)
      .execute();
    await each.run(
      due,
      ({ account_id, id }) =>
        transact(db, patchSteps[0], async (tx) => patchIfDue(deps, tx, await lockDatabase(tx, account_id, id))),
      { putOff: (key, until, now) => putOff(db, key, until, now) },
    );
  };
};

const putOff = (db: Db, { account_id, id }: Key, patch_due_at: Date, now: Date): Promise<unknown> =>
  db
    .updateTable("databases")
    .set({ patch_due_at })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("patch_due_at", "<=", now)
    .execute();

async function patchIfDue({ clock, changeDeadlineSeconds }: PatchDeps, tx: Tx, database: DatabaseRow): Promise<void> {
  const now = clock();
  if (database.deleted_at !== null || database.patch_due_at === null || database.patch_due_at > now) return;
  const columns = await pendingPatch(tx, database);
  const plan = (patch_due_at: Date | null): Promise<unknown> =>
    saveDatabase(tx, database.account_id, database.id, { patch_due_at });
  if (columns === undefined) return void (await plan(null));

  const window = windowAt(database.updates, now);
  const secondsLeft = window === undefined ? 0 : (window.end.getTime() - now.getTime()) / 1000;
  if (secondsLeft < LEAST_SECONDS) return void (await plan(nextWindow(database.updates, now).start));
  if (database.status !== "active") return void (await plan(after(now, AGAIN_SECONDS)));
  await openChange(tx, database, {
    change: patchDatabase,
    columns,
    username: null,
    at: now,
    deadlineSeconds: changeDeadlineSeconds,
    atMostSeconds: secondsLeft,
    detail: { window },
  });
}
