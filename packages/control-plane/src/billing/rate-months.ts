import { type Month, monthsOf } from "./months.ts";
import { rate } from "./rate.ts";
import type { RatingData } from "./rating-input-store.ts";
import type { Period, Credit, RatedInvoice, RatingInput } from "./rating.ts";

export type RatedMonth = { month: Month; period: Period; rated: RatedInvoice };

/**
 * Rates the months of an account in order: what a credit paid in one month is not available in the next. Months without
 * usage are left out.
 */
export function rateMonths(
  ratingData: RatingData,
  billTo: RatingInput["billTo"],
  since: Date,
  until: Date,
): RatedMonth[] {
  let { credits } = ratingData;
  return monthsOf(since, until).flatMap(({ month, period }) => {
    const rated = rate({ ...ratingData, taxRates: ratingData.taxRates.get(month) ?? [], credits, billTo, period });
    credits = credits.map((credit) => used(credit, rated));
    return rated.lines.length === 0 ? [] : [{ month, period, rated }];
  });
}

const used = (credit: Credit, { lines }: RatedInvoice): Credit => ({
  ...credit,
  used_micros: lines.reduce(
    (sum, { credit_id, amount_micros }) => (credit_id === credit.id ? sum - amount_micros : sum),
    credit.used_micros,
  ),
});
