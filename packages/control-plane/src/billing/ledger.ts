import { accountEntity } from "@moorage/contract";
import { sql } from "kysely";
import { raiseAll, resolve } from "#notifications/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { inDollars } from "./money.ts";
import { texts } from "./texts.ts";

/** `source` identifies the payment or refund: each is counted once per kind. */
export type Posting = { accountId: number; source: number; amountMicros: number; at: Date };
type Posted = { account_id: number; id: number; subtotal_micros: number; tax_micros: number; total_micros: number };
type LedgerFault = { account: number; fault: string; micros: number };

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

/** Posts a payment, once per source; returns whether it was posted now. */
export const postPayment = (tx: Tx, posting: Posting): Promise<boolean> => post(tx, "payment", posting);

/** Posts a refund: what the money had paid is owed again. */
export const postRefund = (tx: Tx, posting: Posting): Promise<boolean> => post(tx, "refund", posting);

async function post(tx: Tx, kind: "payment" | "refund", posting: Posting): Promise<boolean> {
  const posted = await postCash(tx, kind, posting);
  if (posted) await notifyBalance(tx, posting.accountId, posting.at);
  return posted;
}

/** False: it had been posted before. */
async function postCash(tx: Tx, kind: "payment" | "refund", posting: Posting): Promise<boolean> {
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

/** The account has a notification for as long as it owes something. */
async function notifyBalance(tx: Tx, accountId: number, at: Date): Promise<void> {
  await notifyBalances(tx, [[accountId, await balanceOf(tx, accountId)]], at);
}

/**
 * Accounts with their balances. The caller holds the accounts' locks, so that notifications are written in the order of
 * the balances.
 */
export async function notifyBalances(tx: Tx, balances: Iterable<readonly [number, number]>, at: Date): Promise<void> {
  const owing: [number, number][] = [];
  for (const [accountId, micros] of balances)
    if (micros > 0) owing.push([accountId, micros]);
    else await resolve(tx, causeOf(accountId));
  const companies = await companiesOf(
    tx,
    owing.map(([accountId]) => accountId),
  );
  await raiseAll(
    tx,
    owing.map(([accountId, micros]) => [causeOf(accountId, companies.get(accountId)), noticeOf(micros)]),
    at,
  );
}

const causeOf = (accountId: number, company: string | null = null) => ({
  accountId,
  entity: accountEntity(company),
  cause: "payment_due",
});

async function companiesOf(tx: Tx, accountIds: readonly number[]): Promise<Map<number, string>> {
  const rows = await tx
    .selectFrom("accounts")
    .select(["id", "company"])
    .where("id", "=", sql<number>`any(${accountIds}::bigint[])`)
    .execute();
  return new Map(rows.map(({ id, company }) => [id, company]));
}

const noticeOf = (micros: number) => ({
  type: "payment_due",
  severity: "major" as const,
  label: texts.paymentDueLabel(),
  message: texts.paymentDue({ amount: inDollars(micros) }),
  body: null,
});

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

/**
 * Compares the ledger with its sources. A constraint ensures that each row balances; this finds postings that are
 * missing, have another amount, or have no source.
 */
export async function verifyLedger(db: Db | Tx): Promise<{ rows: number; faults: LedgerFault[] }> {
  const { rows } = await sql<LedgerFault>`
    select account_id as account, fault, micros from (
      select account_id, 'the books do not balance' as fault,
        sum(receivable_micros + revenue_micros + tax_micros + cash_micros) as micros
      from ledger group by account_id
      union all
      select invoices.account_id, 'invoice ' || invoices.id || ' is not the sum of its lines',
        abs(subtotal_micros - lines.amount) + abs(tax_micros - lines.tax) + abs(tax_micros - taxes.tax)
      from invoices,
      lateral (
        select coalesce(sum(amount_micros), 0) as amount, coalesce(sum(invoice_items.tax_micros), 0) as tax
        from invoice_items
        where invoice_items.account_id = invoices.account_id and invoice_id = invoices.id) lines,
      lateral (
        select coalesce(sum((each->>'tax_micros')::bigint), 0) as tax from jsonb_array_elements(tax_summary) each) taxes
      union all
      select coalesce(invoices.account_id, posted.account_id),
        'invoice ' || coalesce(invoices.id, posted.source) || ' and the ledger differ',
        abs(coalesce(total_micros, 0) - coalesce(receivable_micros, 0))
        + abs(coalesce(subtotal_micros, 0) + coalesce(revenue_micros, 0))
        + abs(coalesce(invoices.tax_micros, 0) + coalesce(posted.tax_micros, 0))
      from invoices full join (select * from ledger where kind = 'invoice') posted
        on posted.account_id = invoices.account_id and posted.source = invoices.id
      union all
      select account_id, 'payments and the ledger differ', coalesce(paid.micros, 0) - coalesce(posted.micros, 0)
      from (select account_id, sum(amount_micros) as micros from payments group by account_id) paid
      full join (select account_id, sum(cash_micros) as micros from ledger where kind = 'payment' group by account_id)
        posted using (account_id)
      union all
      select account_id, 'refunds and the ledger differ', coalesce(given.micros, 0) - coalesce(posted.micros, 0)
      from (select account_id, sum(refunded_micros) as micros from charges group by account_id) given
      full join (select account_id, -sum(cash_micros) as micros from ledger where kind = 'refund' group by account_id)
        posted using (account_id)
    ) compared where micros <> 0 order by account_id, fault`.execute(db);
  const { count } = await db
    .selectFrom("ledger")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return { rows: count, faults: rows };
}
