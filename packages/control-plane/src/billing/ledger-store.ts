import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";

/** What an account owes; negative if it has paid in advance. */
export async function balanceOf(db: Db | Tx, accountId: number): Promise<number> {
  const { owed } = await db
    .selectFrom("ledger")
    .select(({ fn }) => fn.coalesce(fn.sum<number>("receivable_micros"), sql<number>`0`).as("owed"))
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return owed;
}

export async function balancesOf(tx: Tx, accountIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await tx
    .selectFrom("ledger")
    .select(({ fn }) => ["account_id", fn.sum<number>("receivable_micros").as("owed")])
    .where("account_id", "=", sql<number>`any(${accountIds}::bigint[])`)
    .groupBy("account_id")
    .execute();
  return new Map(rows.map(({ account_id, owed }) => [account_id, owed]));
}

type Posted = { account_id: number; id: number; subtotal_micros: number; tax_micros: number; total_micros: number };

/** Posts invoices: the total is owed, part of it is revenue and part is tax. */
export const postInvoices = (tx: Tx, invoices: readonly Posted[], at: Date): Promise<unknown> =>
  sql`
    insert into ledger (account_id, at, kind, source, receivable_micros, revenue_micros, tax_micros)
    select account_id, ${at}, 'invoice', id, total_micros, -subtotal_micros, -tax_micros
    from unnest(
      ${invoices.map(({ account_id }) => account_id)}::bigint[],
      ${invoices.map(({ id }) => id)}::bigint[],
      ${invoices.map(({ subtotal_micros }) => subtotal_micros)}::bigint[],
      ${invoices.map(({ tax_micros }) => tax_micros)}::bigint[],
      ${invoices.map(({ total_micros }) => total_micros)}::bigint[]
    ) as made (account_id, id, subtotal_micros, tax_micros, total_micros)`.execute(tx);

/** `source` identifies the payment or refund: each is counted once per kind. */
export type Posting = { accountId: number; source: number; amountMicros: number; at: Date };

/** False: it had been posted before. */
export async function postCash(tx: Tx, kind: "payment" | "refund", posting: Posting): Promise<boolean> {
  const { accountId, source, amountMicros, at } = posting;
  if (amountMicros <= 0) throw new Error(`A ${kind} of ${amountMicros} micro-dollars cannot be posted.`);
  const received = kind === "payment" ? amountMicros : -amountMicros;
  const posted = await tx
    .insertInto("ledger")
    .values({
      account_id: accountId,
      at,
      kind,
      source,
      receivable_micros: -received,
      cash_micros: received,
    })
    .onConflict((conflict) => conflict.columns(["account_id", "kind", "source"]).doNothing())
    .returning("id")
    .executeTakeFirst();
  return posted !== undefined;
}
