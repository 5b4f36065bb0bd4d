import type { Db } from "#platform/db/database.ts";
import type { InvoiceRow } from "./invoice-store.ts";
import { taxesFor } from "./rate-taxes.ts";

/** The tax rates of an invoice in millionths, by name of the tax: those in force at its end. */
export async function ratesOf(
  db: Db,
  { bill_to: billTo, until }: Pick<InvoiceRow, "bill_to" | "until">,
): Promise<Record<string, number>> {
  const taxRates = await db.selectFrom("tax_rates").selectAll().where("country", "=", billTo.country).execute();
  const taxes = taxesFor({ taxRates, billTo, period: { until } });
  return Object.fromEntries(taxes.map(({ name, rate_ppm }) => [name, rate_ppm]));
}
