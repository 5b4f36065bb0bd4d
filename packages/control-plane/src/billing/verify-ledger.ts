import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";

export type LedgerFault = { account: number; fault: string; micros: number };

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
