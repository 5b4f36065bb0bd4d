import { endRetention } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { isIdle } from "../model/database.ts";
import { openDeletion } from "../provision/delete-database.ts";
import { createStopJob, lockClosedAccount } from "./stop-databases.ts";

type Deps = {
  db: Db;
  clock: Clock;
  eachDue: EachDue;
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
export const createClosedAccountsJob = (deps: Deps) => {
  const { db, clock } = deps;
  const stopAll = createStopJob(deps);
  const each = deps.eachDue("closedAccounts", "account");
  return async (): Promise<void> => {
    await stopAll();
    const due = await db
      .selectFrom("accounts")
      .select("id")
      .where("data_until", "<=", clock())
      .orderBy("data_until")
      .limit(BATCH + each.skipped())
      .execute();
    await each.run(due, ({ id }) => endData(deps, id));
  };
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
    await endRetention(tx, accountId);
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
