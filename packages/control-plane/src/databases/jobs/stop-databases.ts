import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { isIdle } from "../model/database.ts";
import { openChange } from "../updates/change-database.ts";
import { suspendDatabase } from "../updates/suspend-database.ts";

const BATCH = 100;

export type StopDeps = { db: Db; clock: Clock; deleteDeadlineSeconds: number };

/**
 * Suspends what still runs in a closed account: servers stop, firewalls close, data and DNS records
 * stay. Busy databases are skipped until their operation has ended, so this is called repeatedly.
 */
export async function stopDatabases(deps: StopDeps, accountId: number): Promise<void> {
  for (const key of await findRunning(deps.db, { accountId, most: BATCH }))
    await stopDatabase(deps, "api.stopClosedDatabase", key);
}

/** The same for all closed accounts. */
export const createStopJob = (deps: StopDeps & { eachDue: EachDue }) => {
  const each = deps.eachDue("closedAccounts", "database");
  return async (): Promise<void> =>
    each.run(await findRunning(deps.db, { most: BATCH + each.skipped() }), (key) =>
      stopDatabase(deps, "worker.stopClosedDatabase", key),
    );
};

const stopDatabase = (
  deps: StopDeps,
  step: "api.stopClosedDatabase" | "worker.stopClosedDatabase",
  { account_id, id }: { account_id: number; id: number },
): Promise<void> => transact(deps.db, step, async (tx) => stop(tx, deps, await lockDatabase(tx, account_id, id)));

/** By the index of closed accounts: there are few, and only those that still have data. */
const findRunning = (db: Db, { accountId, most }: { accountId?: number; most: number }) =>
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
    .limit(most)
    .execute();

async function stop(tx: Tx, { clock, deleteDeadlineSeconds }: StopDeps, database: DatabaseRow): Promise<void> {
  if (!database.powered || database.deleted_at !== null || !isIdle(database.status)) return;
  if ((await lockClosedAccount(tx, database.account_id)) === undefined) return;
  await openChange(tx, database, {
    change: suspendDatabase,
    columns: { powered: false },
    username: null,
    at: clock(),
    // Given up, it would run again: so an absent host has as long as for a deletion.
    deadlineSeconds: deleteDeadlineSeconds,
    detail: { account: "closed" },
  });
}

/** Locked after the database that is changed, so that nobody reopens the account meanwhile. Undefined: it is open. */
export const lockClosedAccount = (tx: Tx, id: number): Promise<{ data_until: Date | null } | undefined> =>
  tx
    .selectFrom("accounts")
    .select("data_until")
    .where("id", "=", id)
    .where("closed_at", "is not", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
