import { type Month, monthsOf } from "./months.ts";
import { rate } from "./rate.ts";
import type { Books } from "./rating-input-store.ts";
import type { Period, Promotion, RatedInvoice, RatingInput } from "./rating.ts";

export type RatedMonth = { month: Month; period: Period; rated: RatedInvoice };

/** The months of an account one after the other: what a promotion gave in one is gone in the next. Idle ones are left out. */
export function rateMonths(books: Books, billTo: RatingInput["billTo"], since: Date, until: Date): RatedMonth[] {
  let { promotions } = books;
  return monthsOf(since, until).flatMap(({ month, period }) => {
    const rated = rate({ ...books, taxRates: books.taxRates.get(month) ?? [], promotions, billTo, period });
    promotions = promotions.map((promotion) => used(promotion, rated));
    return rated.lines.length === 0 ? [] : [{ month, period, rated }];
  });
}

const used = (promotion: Promotion, { lines }: RatedInvoice): Promotion => ({
  ...promotion,
  used_micros: lines.reduce(
    (sum, { promotion_id, amount_micros }) => (promotion_id === promotion.id ? sum - amount_micros : sum),
    promotion.used_micros,
  ),
});
