import type { Selectable } from "kysely";
import type { PriceBook, UsageFactRow } from "#metering/index.ts";
import type { BillTo, Tables } from "#platform/db/tables.ts";

/** From the start of a month to its end; for the open month, or the last of a closed account, to a moment within it. */
export type Period = { from: Date; until: Date };

export type TaxRate = Selectable<Tables["tax_rates"]>;
/** With what the invoices of earlier months took from it. */
export type Credit = Selectable<Tables["credits"]> & { used_micros: number };
export type Adjustment = Selectable<Tables["adjustments"]>;

/** Everything that determines an account's invoice: the same input always gives the same invoice. */
export type RatingInput = {
  period: Period;
  billTo: Pick<BillTo, "country" | "state" | "tax_id">;
  /** In order per resource. */
  facts: readonly UsageFactRow[];
  prices: PriceBook;
  /** All rates; rating selects those that apply. */
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
