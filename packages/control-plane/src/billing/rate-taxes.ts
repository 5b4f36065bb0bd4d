import { shareOf } from "./rate-cents.ts";
import type { RatedLine, RatingInput, TaxRate, UntaxedLine } from "./rating.ts";

/** Taxes of the country, then of the state, as they were at the period's end. */
export function taxesFor({
  taxRates,
  billTo,
  period,
}: Pick<RatingInput, "taxRates" | "billTo"> & { period: Pick<RatingInput["period"], "until"> }): TaxRate[] {
  return taxRates
    .filter(
      (rate) =>
        rate.country === billTo.country &&
        (rate.state === "" || rate.state === billTo.state) &&
        rate.valid_from < period.until &&
        (rate.valid_until === null || rate.valid_until >= period.until) &&
        !(rate.waived_by_tax_id && billTo.tax_id !== ""),
    )
    .sort((a, b) => compare(a.state, b.state) || compare(a.name, b.name));
}

/** Each tax is rounded per line, so that every line is correct by itself and the sums agree. Credits are taxed too. */
export function tax(
  lines: readonly UntaxedLine[],
  rates: readonly TaxRate[],
): { lines: RatedLine[]; summary: { name: string; tax_micros: number }[] } {
  const summary = rates.map(({ name }) => ({ name, tax_micros: 0 }));
  const taxed = lines.map((line) => {
    let sum = 0;
    for (const [index, { rate_ppm }] of rates.entries()) {
      const share = shareOf(line.amount_micros, rate_ppm);
      sum += share;
      (summary[index] as { tax_micros: number }).tax_micros += share;
    }
    return { ...line, tax_micros: sum, total_micros: line.amount_micros + sum };
  });
  return { lines: taxed, summary };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
