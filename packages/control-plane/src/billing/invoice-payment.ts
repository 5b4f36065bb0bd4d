import type { Selectable } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { InvoiceRow } from "./invoice-store.ts";

type Posted = Pick<Selectable<Tables["ledger"]>, "kind" | "source" | "at" | "receivable_micros">;

/** Payment state of an invoice. `due`: this much is unpaid. */
export type Payment = { state: "paid"; on: Date } | { state: "due"; micros: number };

/**
 * Payments settle the oldest invoice first, as the balance does not name one. Money paid in advance settles an invoice
 * on its date. Undefined: the ledger does not contain the invoice, or there is nothing to pay.
 */
export function paymentOf(
  ledger: readonly Posted[],
  invoice: Pick<InvoiceRow, "id" | "created_at">,
): Payment | undefined {
  const invoices = ledger.filter(({ kind }) => kind === "invoice");
  const last = invoices.findIndex(({ source }) => source === invoice.id);
  const own = invoices[last]?.receivable_micros ?? 0;
  if (own <= 0) return undefined;
  const needed = sum(invoices.slice(0, last + 1));
  const cash = ledger.filter(({ kind }) => kind !== "invoice");
  const open = needed + sum(cash);
  if (open > 0) return { state: "due", micros: Math.min(open, own) };
  // The last time that the money did not suffice, and the payment that changed that.
  const lacking = cash.findLastIndex((_, index) => needed + sum(cash.slice(0, index + 1)) > 0);
  const enough = needed > 0 ? cash[lacking + 1]?.at : undefined;
  return { state: "paid", on: enough === undefined || enough < invoice.created_at ? invoice.created_at : enough };
}

const sum = (posted: readonly Posted[]): number =>
  posted.reduce((total, { receivable_micros }) => total + receivable_micros, 0);

export const findLedger = (db: Db, accountId: number): Promise<Posted[]> =>
  db
    .selectFrom("ledger")
    .select(["kind", "source", "at", "receivable_micros"])
    .where("account_id", "=", accountId)
    .orderBy("id")
    .execute();
