import { type Invoice, type InvoiceItem, toTimestamp } from "@moorage/contract";
import type { InvoiceItemRow, InvoiceRow } from "./invoice-store.ts";
import { toDollars } from "./money.ts";

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
