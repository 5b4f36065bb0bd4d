import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { openChange } from "../changes/change-database.ts";
import { isIdle } from "../database.ts";
import { type DatabaseRow, lockDatabase } from "../database-store.ts";
import { lockClosedAccount } from "./closed-account.ts";

export type StopDeps = { db: Db; clock: Clock; deleteDeadlineSeconds: number };

const BATCH = 100;

/**
 * Suspends what still runs in closed accounts, or in one of them: servers stop, firewalls close, data and DNS records
 * stay. Busy databases are skipped until their operation has ended, so this is called repeatedly.
 */
export async function stopDatabases(
  deps: StopDeps,
  step: "api.stopClosedDatabase" | "worker.stopClosedDatabase",
  accountId?: number,
): Promise<void> {
  for (const { account_id, id } of await findRunning(deps.db, accountId))
    await transact(deps.db, step, async (tx) => stop(tx, deps, await lockDatabase(tx, account_id, id)));
}

/** By the index of closed accounts: there are few, and only those that still have data. */
const findRunning = (db: Db, accountId: number | undefined) =>
  db
    .selectFrom("accounts")
    .innerJoin("databases", "databases.account_id", "accounts.id")
    .select(["databases.account_id", "databases.id"])
    .where("accounts.data_until", "is not", null)
    .where("accounts.closed_at", "is not", null)
    .where("databases.powered", "=", true)
    .where("databases.deleted_at", "is", null)
    .where("databases.status", "in", ["active", "degraded", "failed"])
    // Without a node, or with a lost one, nothing runs.
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("nodes")
          .select("nodes.id")
          .whereRef("nodes.account_id", "=", "databases.account_id")
          .whereRef("nodes.database_id", "=", "databases.id")
          .where("nodes.released_at", "is", null)
          .where("nodes.desired_spec", "is not", null)
          .where("nodes.tombstoned", "=", false),
      ),
    )
    .$if(accountId !== undefined, (query) => query.where("accounts.id", "=", accountId as number))
    .orderBy("accounts.data_until")
    .orderBy("databases.id")
    .limit(BATCH)
    .execute();

async function stop(tx: Tx, { clock, deleteDeadlineSeconds }: StopDeps, database: DatabaseRow): Promise<void> {
  if (!database.powered || database.deleted_at !== null || !isIdle(database.status)) return;
  if ((await lockClosedAccount(tx, database.account_id)) === undefined) return;
  await openChange(tx, database, {
    kind: "suspendDatabase",
    columns: { powered: false },
    username: null,
    at: clock(),
    // Given up, it would run again: so an absent host has as long as for a deletion.
    deadlineSeconds: deleteDeadlineSeconds,
    detail: { account: "closed" },
  });
}
