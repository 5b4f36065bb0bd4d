import { type Insertable, type Selectable, sql } from "kysely";
import { areChargesCurrent } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import { type ChargeRow, leaseUntil, nextTry } from "./charge.ts";

export const findPending = (db: Db | Tx, accountId: number): Promise<ChargeRow | undefined> =>
  db
    .selectFrom("charges")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("status", "=", "pending")
    .executeTakeFirst();

/** Undefined: another charge of this account is pending. */
export const insertCharge = (tx: Tx, row: Insertable<Tables["charges"]>): Promise<ChargeRow | undefined> =>
  tx
    .insertInto("charges")
    .values(row)
    .onConflict((conflict) => conflict.column("account_id").where("status", "=", sql.lit("pending")).doNothing())
    .returningAll()
    .executeTakeFirst();

/** A charge that this database lost. It is not pending: that another one is must not prevent it. */
export const insertLostCharge = async (
  tx: Tx,
  row: Omit<Insertable<Tables["charges"]>, "status" | "purpose" | "due_at" | "attempts">,
): Promise<boolean> =>
  (await tx
    .insertInto("charges")
    .values({ ...row, status: "declined", purpose: "payment", due_at: row.created_at, attempts: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst()) !== undefined;

export const findNewestCharge = async (db: Db): Promise<Date | undefined> =>
  (await db.selectFrom("charges").select("created_at").orderBy("created_at", "desc").limit(1).executeTakeFirst())
    ?.created_at;

export const findWithUuids = (db: Db, ids: readonly number[]) =>
  db
    .selectFrom("charges")
    .innerJoin("accounts", "accounts.id", "charges.account_id")
    .selectAll("charges")
    .select("accounts.euuid")
    .where("charges.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();

export const findCharge = (db: Db | Tx, id: number): Promise<ChargeRow> =>
  db.selectFrom("charges").selectAll().where("id", "=", id).executeTakeFirstOrThrow(notFound);

/** The settling transaction holds the lock, so that a charge is settled once. */
export const lockCharge = (tx: Tx, id: number): Promise<ChargeRow | undefined> =>
  tx.selectFrom("charges").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();

/**
 * The attempt is counted before the provider is called: attempt 1 is certainly the first call. In the same statement,
 * the provider is known to have no charge that this database lost.
 */
export const takeCharge = (db: Db, id: number, now: Date, { ifDue }: { ifDue: boolean }) =>
  db
    .updateTable("charges")
    .set({ attempts: sql`attempts + 1`, due_at: leaseUntil(now) })
    .where("id", "=", id)
    .where("status", "=", "pending")
    .where(sql<boolean>`exists (select from installation where ${areChargesCurrent})`)
    .$if(ifDue, (query) => query.where("due_at", "<=", now))
    .returning("attempts")
    .executeTakeFirst();

/** An attempt of before may have been lost, and have charged: no attempt from now on is certainly the first. */
export const countLostAttempts = (tx: Tx): Promise<unknown> =>
  tx.updateTable("charges").set({ attempts: 1 }).where("status", "=", "pending").where("attempts", "=", 0).execute();

export const postpone = (db: Db, { id, attempts }: Pick<ChargeRow, "id" | "attempts">, now: Date): Promise<unknown> =>
  db
    .updateTable("charges")
    .set({ due_at: nextTry(attempts, now) })
    .where("id", "=", id)
    .where("status", "=", "pending")
    .execute();

export const listDue = (db: Db, now: Date, most: number): Promise<{ id: number }[]> =>
  db
    .selectFrom("charges")
    .select("id")
    .where("status", "=", "pending")
    .where("due_at", "<=", now)
    .orderBy("due_at")
    .limit(most)
    .execute();

/** A charge with the data that the provider needs. */
export const findForProvider = (db: Db, id: number) =>
  db
    .selectFrom("charges")
    .innerJoin("accounts", "accounts.id", "charges.account_id")
    .innerJoin("payment_methods", (join) =>
      join
        .onRef("payment_methods.account_id", "=", "charges.account_id")
        .onRef("payment_methods.id", "=", "charges.payment_method_id"),
    )
    .selectAll("charges")
    .select(["accounts.euuid", "accounts.provider_customer", "payment_methods.provider_token"])
    .where("charges.id", "=", id)
    .executeTakeFirstOrThrow();
export type ChargeForProvider = Awaited<ReturnType<typeof findForProvider>>;

export const saveOutcome = (
  tx: Tx,
  { account_id, id }: ChargeRow,
  outcome: Pick<ChargeRow, "status" | "reason" | "provider_id"> & { settled_at: Date },
): Promise<ChargeRow> =>
  tx
    .updateTable("charges")
    .set(outcome)
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** For the operator: charges of one account or of all, the newest first. */
export const listCharges = (db: Db, page: PageRequest, accountId: number | undefined) =>
  listPage(
    db
      .selectFrom("charges")
      .selectAll()
      .$if(accountId !== undefined, (query) => query.where("account_id", "=", accountId as number)),
    { page, lastly: { by: "id", direction: "desc" } },
  );

export type AccountOfCharge = Pick<Selectable<Tables["accounts"]>, "id" | "euuid" | "company" | "closed_at">;

/** Locked, so that notifications follow the order of the balances. After every other lock except the event's. */
export const lockAccount = (tx: Tx, id: number): Promise<AccountOfCharge> =>
  tx
    .selectFrom("accounts")
    .select(["id", "euuid", "company", "closed_at"])
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();

/** Other installations may call their accounts otherwise. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const findAccountsByUuid = (db: Db | Tx, uuids: readonly string[]): Promise<{ id: number }[]> =>
  db
    .selectFrom("accounts")
    .select("id")
    .where("euuid", "=", sql<string>`any(${uuids.filter((each) => UUID.test(each))}::uuid[])`)
    .execute();

export const findAccountUuid = async (tx: Tx, id: number): Promise<string> =>
  (await tx.selectFrom("accounts").select("euuid").where("id", "=", id).executeTakeFirstOrThrow()).euuid;

/** Prevents charges in an account that was closed meanwhile, and closing while a charge is opened. */
export const holdOpenAccount = async (tx: Tx, id: number): Promise<boolean> =>
  (await tx
    .selectFrom("accounts")
    .select("id")
    .where("id", "=", id)
    .where("closed_at", "is", null)
    .forShare()
    .executeTakeFirst()) !== undefined;
