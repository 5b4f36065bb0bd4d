import type pg from "pg";
import { findAnyInvoice } from "../../../packages/control-plane/src/billing/invoice-store.ts";
import { verifyLedger } from "../../../packages/control-plane/src/billing/ledger.ts";
import { rerate } from "../../../packages/control-plane/src/billing/rerate.ts";
import { createDb } from "../../../packages/control-plane/src/platform/db/database.ts";

const one = async <T>(pool: pg.Pool, text: string): Promise<T> => (await pool.query(text)).rows[0] as T;

export const invoiced = async (pool: pg.Pool): Promise<number> =>
  (await one<{ count: number }>(pool, "select count(*) as count from invoices")).count;

export const isMonthEnded = async (pool: pg.Pool): Promise<boolean> =>
  (
    await one<{ ended: boolean }>(
      pool,
      "select count(*) > 1 and bool_and(finished_at is not null) as ended from billing_runs",
    )
  ).ended;

/** Throws unless every account has exactly one complete invoice. */
export async function requireEndedMonth(pool: pg.Pool, accounts: number, rerated: number): Promise<string> {
  const counts = await one<Record<string, number>>(
    pool,
    `select (select count(*) from invoices) as invoices, (select count(distinct account_id) from invoices) as accounts,
      (select count(*) from invoice_items) as items, (select count(*) from ledger) as ledger,
      (select count(*) from accounts where invoiced_through = date_trunc('month', now(), 'UTC')) as through,
      (select count(*) from notifications) as notified,
      (select count(*) from (select from ledger group by account_id having sum(receivable_micros) > 0) owing) as owing,
      (select sum(total_micros) from invoices) as total_micros`,
  );
  for (const each of ["invoices", "accounts", "ledger", "through"])
    if (counts[each] !== accounts) throw new Error(`${each}: ${counts[each]}, not ${accounts}`);
  if (counts["notified"] !== counts["owing"])
    throw new Error(`${counts["owing"]} owe, ${counts["notified"]} were notified`);
  const db = createDb(pool);
  const { faults } = await verifyLedger(db);
  if (faults.length > 0) throw new Error(`the ledger is wrong: ${JSON.stringify(faults.slice(0, 3))}`);
  const { rows } = await pool.query("select id from invoices order by md5(id::text) limit $1", [rerated]);
  for (const { id } of rows as { id: number }[]) {
    const invoice = await findAnyInvoice(db, id);
    const differences = invoice === undefined ? [] : await rerate(db, invoice);
    if (differences.length > 0) throw new Error(`invoice ${id} differs: ${JSON.stringify(differences[0])}`);
  }
  const total = ((counts["total_micros"] as number) / 1e6).toFixed(2);
  return `${accounts} invoices, ${counts["items"]} lines, $${total} in all, ${counts["owing"]} owe, ${rerated} rated again: no difference`;
}
