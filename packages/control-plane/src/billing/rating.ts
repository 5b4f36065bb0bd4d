import type { Selectable } from "kysely";
import type { PriceBook, UsageFactRow } from "#metering/index.ts";
import type { BillTo, Tables } from "#platform/db/tables.ts";

/** From the first moment of a month to its end; of a month that is open, or that a closed account has left, to then. */
export type Period = { from: Date; until: Date };

export type TaxRate = Selectable<Tables["tax_rates"]>;
/** With what the invoices of earlier months took from it. */
export type Credit = Selectable<Tables["credits"]> & { used_micros: number };
export type Adjustment = Selectable<Tables["adjustments"]>;

/** Everything that decides an account's invoice: the same of these gives the same invoice, whenever it is asked. */
export type RatingInput = {
  period: Period;
  billTo: Pick<BillTo, "country" | "state" | "tax_id">;
  /** Of each resource in its own order. */
  facts: readonly UsageFactRow[];
  prices: PriceBook;
  /** Of all places and times; those that count are chosen here. */
  taxRates: readonly TaxRate[];
  credits: readonly Credit[];
  adjustments: readonly Adjustment[];
};

export type UntaxedLine = Omit<
  Selectable<Tables["invoice_items"]>,
  "account_id" | "invoice_id" | "ordinal" | "tax_micros" | "total_micros"
>;
export type RatedLine = UntaxedLine & { tax_micros: number; total_micros: number };

export type RatedInvoice = {
  lines: RatedLine[];
  subtotal_micros: number;
  tax_micros: number;
  total_micros: number;
  tax_summary: { name: string; tax_micros: number }[];
};
