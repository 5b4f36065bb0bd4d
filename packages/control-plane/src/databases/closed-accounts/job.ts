import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { isIdle } from "../database.ts";
import { type DatabaseRow, lockDatabase } from "../database-store.ts";
import { openDeletion } from "../delete-database.ts";
import { lockClosedAccount } from "./closed-account.ts";
import { stopDatabases } from "./stop-databases.ts";

type Deps = {
  db: Db;
  clock: Clock;
  deleteDeadlineSeconds: number;
  undeleteDays: number;
  /** Ends the other resources of an account whose retention is over. Repeatable. */
  endOthers: (accountId: number) => Promise<void>;
};

/** The steps at which a fault drill can kill the job. */
export const closedAccountSteps = [
  "worker.stopClosedDatabase",
  "worker.deleteClosedDatabase",
  "worker.endClosedData",
] as const;

const BATCH = 20;

/** Stops everything of a closed account, and deletes it when its retention is over. Each round continues from there. */
export const createClosedAccountsJob = (deps: Deps) => async (): Promise<void> => {
  const { db, clock } = deps;
  await stopDatabases(deps, "worker.stopClosedDatabase");
  const due = await db
    .selectFrom("accounts")
    .select("id")
    .where("data_until", "<=", clock())
    .orderBy("data_until")
    .limit(BATCH)
    .execute();
  for (const { id } of due) await endData(deps, id);
};

async function endData(deps: Deps, accountId: number): Promise<void> {
  const { db, clock } = deps;
  const kept = await db
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .execute();
  for (const { id } of kept)
    await transact(db, "worker.deleteClosedDatabase", async (tx) =>
      deleteIfDue(tx, deps, await lockDatabase(tx, accountId, id)),
    );
  await deps.endOthers(accountId);
  if (kept.length > 0) return;
  await transact(db, "worker.endClosedData", async (tx) => {
    if (!(await isDue(tx, accountId, clock()))) return;
    await tx.updateTable("accounts").set({ data_until: null }).where("id", "=", accountId).execute();
    await audit(tx, {
      at: clock(),
      account: accountId,
      actor: "worker",
      action: "delete_account_data",
      target: `account/${accountId}`,
    });
  });
}

async function deleteIfDue(tx: Tx, deps: Deps, database: DatabaseRow): Promise<void> {
  if (database.deleted_at !== null || !isIdle(database.status)) return;
  if (!(await isDue(tx, database.account_id, deps.clock()))) return;
  await openDeletion(tx, database, { ...deps, username: null, at: deps.clock() });
}

async function isDue(tx: Tx, accountId: number, now: Date): Promise<boolean> {
  const until = (await lockClosedAccount(tx, accountId))?.data_until ?? null;
  return until !== null && until <= now;
}
