import { type PaymentMethod, toTimestamp } from "@moorage/contract";
import { type Insertable, type Selectable, sql } from "kysely";
import { setCustomer } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

export type MethodRow = Selectable<Tables["payment_methods"]>;
export type Holder = Pick<
  Selectable<Tables["accounts"]>,
  "id" | "euuid" | "company" | "zip" | "country" | "provider_customer"
>;

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

/** Also a removed one. */
export const findByToken = (tx: Tx, accountId: number, token: string): Promise<Pick<MethodRow, "id"> | undefined> =>
  tx
    .selectFrom("payment_methods")
    .select("id")
    .where("account_id", "=", accountId)
    .where("provider_token", "=", token)
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

export const markDeleted = (tx: Tx, method: MethodRow, at: Date): Promise<unknown> =>
  ofOne(tx, method).set({ deleted_at: at }).execute();

export const markForgotten = (db: Db, method: Pick<MethodRow, "account_id" | "id">, at: Date): Promise<unknown> =>
  ofOne(db, method).set({ forgotten_at: at }).execute();

const ofOne = (db: Db | Tx, { account_id, id }: Pick<MethodRow, "account_id" | "id">) =>
  db.updateTable("payment_methods").where("account_id", "=", account_id).where("id", "=", id);

export const listToForget = (db: Db, most: number): Promise<MethodRow[]> =>
  db
    .selectFrom("payment_methods")
    .selectAll()
    .where("deleted_at", "is not", null)
    .where("forgotten_at", "is", null)
    .orderBy(sql`deleted_at`)
    .limit(most)
    .execute();

export const viewOfMethod = (method: MethodRow): PaymentMethod => ({
  id: method.id,
  created: toTimestamp(method.created_at),
  is_default: method.is_default,
  type: "credit_card",
  data: { card_type: method.card_type, expiry: expiryOf(method), last_four: method.last_four },
});

/** In the clients' format: `07/2031`. */
export const expiryOf = ({ expiry_month, expiry_year }: Pick<MethodRow, "expiry_month" | "expiry_year">): string =>
  `${String(expiry_month).padStart(2, "0")}/${expiry_year}`;

/** The holder of an account's cards. Locked, which serializes the counting of cards. */
export const lockHolder = (tx: Tx, accountId: number): Promise<Holder> =>
  tx
    .selectFrom("accounts")
    .select(["id", "euuid", "company", "zip", "country", "provider_customer"])
    .where("id", "=", accountId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();

/** An account has one customer at the provider: a card of another customer could not be charged. */
export async function saveCustomer(tx: Tx, { id, provider_customer }: Holder, customer: string): Promise<void> {
  if (provider_customer === customer) return;
  if (provider_customer !== null) throw new Error(`The card belongs to another customer than the account ${id}.`);
  await setCustomer(tx, id, customer);
}
