import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type BillingRun = Selectable<Tables["billing_runs"]>;
/** The input of a run's workflow. */
export type RunKey = { month: string; firstAccount: number };

export const findLastMonth = async (db: Db): Promise<string | undefined> =>
  (await db.selectFrom("billing_runs").select("month").orderBy("month", "desc").limit(1).executeTakeFirst())?.month;

/** Ids grow: the first account is the oldest. */
export const findFirstAccount = (db: Db): Promise<{ created_at: Date } | undefined> =>
  db.selectFrom("accounts").select("created_at").orderBy("id").limit(1).executeTakeFirst();

export const openRuns = (db: Db): Promise<BillingRun[]> =>
  db
    .selectFrom("billing_runs")
    .selectAll()
    .where("finished_at", "is", null)
    .orderBy("month")
    .orderBy("first_account")
    .execute();

export const findRun = (db: Db, { month, firstAccount }: RunKey): Promise<BillingRun | undefined> =>
  db
    .selectFrom("billing_runs")
    .selectAll()
    .where("month", "=", month)
    .where("first_account", "=", firstAccount)
    .executeTakeFirst();

/** Splits all accounts into ranges of this size. If two processes do it at once, one succeeds. */
export const insertRuns = (tx: Tx, month: string, accountsEach: number, at: Date): Promise<unknown> =>
  sql`
    insert into billing_runs (month, first_account, last_account, created_at)
    select ${month}::date, min(id), max(id), ${at}
    from (select id, (row_number() over (order by id) - 1) / ${accountsEach} as part from accounts) cut
    group by part
    on conflict do nothing`.execute(tx);

export const finishRun = (tx: Tx, { month, firstAccount }: RunKey, at: Date): Promise<unknown> =>
  tx
    .updateTable("billing_runs")
    .set({ finished_at: at })
    .where("month", "=", month)
    .where("first_account", "=", firstAccount)
    .where("finished_at", "is", null)
    .execute();

/** The first accounts of a range that are not invoiced up to `until`. */
export const accountsToInvoice = async (
  db: Db,
  { first_account, last_account }: BillingRun,
  until: Date,
  after: number,
  limit: number,
): Promise<number[]> =>
  (
    await db
      .selectFrom("accounts")
      .select("id")
      .where("id", ">=", first_account)
      .where("id", ">", after)
      .where("id", "<=", last_account)
      .where("invoiced_through", "<", until)
      .where("created_at", "<", until)
      .where("closed_at", "is", null)
      .orderBy("id")
      .limit(limit)
      .execute()
  ).map(({ id }) => id);
