import { type Invoice, type InvoiceItem, toTimestamp } from "@moorage/contract";
import { stringify } from "csv-stringify/sync";
import type { Db } from "#platform/db/database.ts";
import type { InvoiceItemRow, InvoiceRow } from "./invoice-store.ts";
import { toDollars } from "./money.ts";
import { taxesFor } from "./rate.ts";

const columns: readonly (keyof InvoiceItem)[] = [
  ...(["label", "type", "region", "from", "to", "quantity", "unit_price", "amount", "tax", "total"] as const),
];
const inCents = new Set<unknown>(["amount", "tax", "total"]);

export const viewOfInvoice = (row: InvoiceRow): Invoice => ({
  id: row.id,
  label: row.label,
  date: toTimestamp(row.created_at),
  billing_source: row.billing_source,
  subtotal: toDollars(row.subtotal_micros),
  tax: toDollars(row.tax_micros),
  tax_summary: row.tax_summary.map(({ name, tax_micros }) => ({ name, tax: toDollars(tax_micros) })),
  total: toDollars(row.total_micros),
});

export const viewOfItem = (row: InvoiceItemRow): InvoiceItem => ({
  label: row.label,
  type: row.type,
  from: toTimestamp(row.from_at),
  to: toTimestamp(row.to_at),
  quantity: row.quantity,
  unit_price: toDollars(row.unit_price_micros),
  amount: toDollars(row.amount_micros),
  tax: toDollars(row.tax_micros),
  total: toDollars(row.total_micros),
  region: row.region,
});

/**
 * Labels come from tenants, and a spreadsheet executes what looks like a formula: such a cell gets a leading
 * apostrophe.
 */
export const csvOf = (items: readonly InvoiceItemRow[]): Uint8Array<ArrayBuffer> =>
  Buffer.from(
    stringify(items.map(viewOfItem), {
      columns: [...columns],
      header: true,
      record_delimiter: "windows",
      escape_formulas: true,
      cast: { number: (value, { column }) => (inCents.has(column) ? value.toFixed(2) : String(value)) },
    }),
  );

/** The tax rates of an invoice in millionths, by name of the tax: those in force at its end. */
export async function ratesOf(
  db: Db,
  { bill_to: billTo, until }: Pick<InvoiceRow, "bill_to" | "until">,
): Promise<Record<string, number>> {
  const taxRates = await db.selectFrom("tax_rates").selectAll().where("country", "=", billTo.country).execute();
  const taxes = taxesFor({ taxRates, billTo, period: { until } });
  return Object.fromEntries(taxes.map(({ name, rate_ppm }) => [name, rate_ppm]));
}
