import { type Insertable, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter.ts";
import type { PageRequest } from "#platform/http/page.ts";

export type MethodRow = Selectable<Tables["payment_methods"]>;

/** A removed method is visible only to the charges that were made with it. */
const methodsOf = (db: Db | Tx, accountId: number) =>
  db.selectFrom("payment_methods").selectAll().where("account_id", "=", accountId).where("deleted_at", "is", null);

export const listMethodPage = (db: Db, accountId: number, page: PageRequest, filter: Filter) =>
  listPage(methodsOf(db, accountId), { page, filter, lastly: { by: "id" } });

export const findMethod = (db: Db | Tx, accountId: number, id: number): Promise<MethodRow> =>
  methodsOf(db, accountId).where("id", "=", id).executeTakeFirstOrThrow(notFound);

export const findDefaultMethod = (db: Db | Tx, accountId: number): Promise<MethodRow | undefined> =>
  methodsOf(db, accountId).where("is_default", "=", true).executeTakeFirst();

export const lockMethod = (tx: Tx, accountId: number, id: number): Promise<MethodRow | undefined> =>
  methodsOf(tx, accountId).where("id", "=", id).forUpdate().executeTakeFirst();

/**
 * Locks all methods of an account in order: setting the default changes several. The advisory lock also serializes the
 * first additions, when there are no rows to lock.
 */
export async function lockMethods(tx: Tx, accountId: number): Promise<MethodRow[]> {
  await sql`select pg_advisory_xact_lock(hashtextextended('payment_methods', ${accountId}))`.execute(tx);
  return methodsOf(tx, accountId).orderBy("id").forUpdate().execute();
}

export const countMethods = async (tx: Db | Tx, accountId: number): Promise<number> =>
  (
    await tx
      .selectFrom("payment_methods")
      .select(({ fn }) => fn.countAll<number>().as("methods"))
      .where("account_id", "=", accountId)
      .where("deleted_at", "is", null)
      .executeTakeFirstOrThrow()
  ).methods;

/** Undefined: the card exists already. */
export const insertMethod = (tx: Tx, row: Insertable<Tables["payment_methods"]>): Promise<MethodRow | undefined> =>
  tx
    .insertInto("payment_methods")
    .values(row)
    .onConflict((conflict) => conflict.column("provider_token").doNothing())
    .returningAll()
    .executeTakeFirst();

export const isRemoved = async (tx: Tx, token: string): Promise<boolean> =>
  (
    await tx
      .selectFrom("payment_methods")
      .select("deleted_at")
      .where("provider_token", "=", token)
      .executeTakeFirstOrThrow()
  ).deleted_at !== null;

/** Two statements: there is never more than one default. */
export async function setDefault(tx: Tx, { account_id, id }: Pick<MethodRow, "account_id" | "id">): Promise<void> {
  const ofAccount = () =>
    tx.updateTable("payment_methods").where("account_id", "=", account_id).where("deleted_at", "is", null);
  await ofAccount().set({ is_default: false }).where("is_default", "=", true).where("id", "<>", id).execute();
  await ofAccount().set({ is_default: true }).where("id", "=", id).execute();
}

const ofOne = (db: Db | Tx, { account_id, id }: Pick<MethodRow, "account_id" | "id">) =>
  db.updateTable("payment_methods").where("account_id", "=", account_id).where("id", "=", id);

export const markDeleted = (tx: Tx, method: MethodRow, at: Date): Promise<unknown> =>
  ofOne(tx, method).set({ deleted_at: at }).execute();

export const markForgotten = (db: Db, method: Pick<MethodRow, "account_id" | "id">, at: Date): Promise<unknown> =>
  ofOne(db, method).set({ forgotten_at: at }).execute();

export const listToForget = (db: Db, most: number): Promise<MethodRow[]> =>
  db
    .selectFrom("payment_methods")
    .selectAll()
    .where("deleted_at", "is not", null)
    .where("forgotten_at", "is", null)
    .orderBy(sql`deleted_at`)
    .limit(most)
    .execute();
