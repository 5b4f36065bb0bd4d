import type { Db } from "#platform/db/database.ts";
import { findItems, type InvoiceRow } from "./invoice-store.ts";
import { startOf } from "./months.ts";
import { rateMonths } from "./open-months.ts";
import { readRatingData } from "./rating-input-store.ts";
import type { RatedInvoice } from "./rating.ts";

type Difference = { what: string; invoiced: string; rated: string };

/** Rates an invoice's month again and compares it with the invoice. Any difference is a fault. */
export async function rerate(db: Db, invoice: InvoiceRow): Promise<Difference[]> {
  const period = { from: startOf(invoice.month), until: invoice.until };
  const ratingData = (await readRatingData(db, [invoice.account_id], period)).get(invoice.account_id);
  const [month] = ratingData === undefined ? [] : rateMonths(ratingData, invoice.bill_to, period.from, period.until);
  const invoiced = await asRated(db, invoice);
  const rated = month?.rated ?? { lines: [], subtotal_micros: 0, tax_micros: 0, total_micros: 0, tax_summary: [] };
  return differences(textOf(invoiced), textOf(rated));
}

async function asRated(db: Db, invoice: InvoiceRow): Promise<RatedInvoice> {
  const { subtotal_micros, tax_micros, total_micros, tax_summary } = invoice;
  const lines = (await findItems(db, invoice)).map(
    ({ account_id: _account, invoice_id: _invoice, ordinal: _ordinal, ...line }) => line,
  );
  return { lines, subtotal_micros, tax_micros, total_micros, tax_summary };
}

/** One text per part, independent of the order of its fields. */
const textOf = ({ lines, tax_summary, ...sums }: RatedInvoice): Map<string, string> =>
  new Map([
    ...Object.entries(sums).map(([name, micros]): [string, string] => [name, String(micros)]),
    ...tax_summary.map((tax, at): [string, string] => [`tax ${at + 1}`, inOrder(tax)]),
    ...lines.map((line, at): [string, string] => [`line ${at + 1}`, inOrder(line)]),
  ]);

const inOrder = (part: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))));

const differences = (invoiced: Map<string, string>, rated: Map<string, string>): Difference[] =>
  [...new Set([...invoiced.keys(), ...rated.keys()])]
    .map((what) => ({ what, invoiced: invoiced.get(what) ?? "none", rated: rated.get(what) ?? "none" }))
    .filter((part) => part.invoiced !== part.rated);
