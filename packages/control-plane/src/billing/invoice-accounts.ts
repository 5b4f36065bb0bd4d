import { sql } from "kysely";
import { setInvoicedThrough } from "#identity/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { insertInvoices, insertItems, type InvoiceItemRow, type InvoiceRow, takeNumbers } from "./invoice-store.ts";
import { balancesOf, notifyBalances, postInvoices } from "./ledger.ts";
import { endOf, monthOf, startOf } from "./months.ts";
import { type AccountRow, billToOf, type RatedMonth, rateOpenMonths } from "./open-months.ts";

/** The balance of an account after its invoice. */
export type Owed = { accountId: number; amountMicros: number };
/** Called in the transaction of the invoices, with the accounts' rows locked. */
export type AfterInvoices = (tx: Tx, owed: readonly Owed[], at: Date) => Promise<unknown>;

/**
 * Creates the invoices of some accounts for all usage up to a month's end, with their consequences. Accounts that are
 * invoiced up to then are skipped, so that it can be repeated.
 */
export async function invoiceAccounts(
  tx: Tx,
  accountIds: readonly number[],
  { until, at, afterInvoices }: { until: Date; at: Date; afterInvoices: AfterInvoices },
): Promise<void> {
  const accounts = (await lockAccounts(tx, accountIds, until)).filter(({ closed_at }) => closed_at === null);
  const invoices = await writeInvoices(tx, accounts, until, at);
  const invoiced = [...new Set(invoices.map(({ account_id }) => account_id))];
  const balances = await balancesOf(tx, invoiced);
  await notifyBalances(tx, balances, at);
  const owed = [...balances].map(([accountId, amountMicros]) => ({ accountId, amountMicros }));
  await afterInvoices(
    tx,
    owed.filter(({ amountMicros }) => amountMicros > 0),
    at,
  );
  if (invoices.length > 0) await auditInvoices(tx, invoices, until, at);
}

/**
 * The last invoice of an account that is being closed, up to its cancellation. Returns the number of the last invoice,
 * if there was anything to invoice. Later usage is never invoiced.
 */
export async function closeBilling(tx: Tx, accountId: number, cutoff: Date, at: Date): Promise<number | undefined> {
  const invoices = await writeInvoices(tx, await lockAccounts(tx, [accountId], cutoff), cutoff, at);
  if (invoices.length > 0) await auditInvoices(tx, invoices, cutoff, at);
  await notifyBalances(tx, await balancesOf(tx, [accountId]), at);
  return invoices.at(-1)?.id;
}

/**
 * For an account that is reopened. The month in which it was closed has its final invoice, and there is one invoice per
 * month: the rest of that month is free, and the next month is billed as usual.
 */
export async function reopenBilling(tx: Tx, account: { id: number; invoiced_through: Date }): Promise<void> {
  const month = monthOf(account.invoiced_through);
  if (account.invoiced_through.getTime() === startOf(month).getTime()) return;
  await setInvoicedThrough(tx, [account.id], endOf(month));
}

/** In the order of their ids, which is the lock order. Rows that reference them can still be written. */
const lockAccounts = (tx: Tx, ids: readonly number[], until: Date): Promise<AccountRow[]> =>
  tx
    .selectFrom("accounts")
    .selectAll()
    .where("id", "=", sql<number>`any(${ids}::bigint[])`)
    .where("invoiced_through", "<", until)
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();

async function writeInvoices(
  tx: Tx,
  accounts: readonly AccountRow[],
  until: Date,
  at: Date,
): Promise<readonly InvoiceRow[]> {
  const rated = await rateOpenMonths(tx, accounts, until);
  const months = accounts.flatMap((account) => (rated.get(account.id) ?? []).map((month) => ({ account, month })));
  const numbers = await takeNumbers(tx, months.length);
  const made = months.map(({ account, month }, index) => ({
    row: invoiceOf(account, month, numbers[index] as number, at),
    lines: month.rated.lines,
  }));
  const invoices = made.map(({ row }) => row);
  await insertInvoices(tx, invoices);
  await insertItems(
    tx,
    made.flatMap(({ row, lines }) =>
      lines.map(
        (line, ordinal): InvoiceItemRow => ({ account_id: row.account_id, invoice_id: row.id, ordinal, ...line }),
      ),
    ),
  );
  await postInvoices(tx, invoices, at);
  await setInvoicedThrough(
    tx,
    accounts.map(({ id }) => id),
    until,
  );
  return invoices;
}

const invoiceOf = (account: AccountRow, { month, period, rated }: RatedMonth, id: number, at: Date): InvoiceRow => ({
  account_id: account.id,
  id,
  month,
  label: `Invoice #${id}`,
  created_at: at,
  until: period.until,
  billing_source: account.billing_source,
  bill_to: billToOf(account),
  subtotal_micros: rated.subtotal_micros,
  tax_micros: rated.tax_micros,
  total_micros: rated.total_micros,
  tax_summary: rated.tax_summary,
});

const auditInvoices = (tx: Tx, invoices: readonly InvoiceRow[], until: Date, at: Date): Promise<void> =>
  audit(tx, {
    at,
    account: null,
    actor: "worker",
    action: "invoice_accounts",
    target: `until/${until.toISOString()}`,
    detail: {
      invoices: invoices.map(({ id }) => id),
      total_micros: invoices.reduce((sum, { total_micros }) => sum + total_micros, 0),
    },
  });
