import type { Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { BillTo, Tables } from "#platform/db/tables.ts";
import { type Month, monthOf, monthsOf, startOf } from "./months.ts";
import { rate } from "./rate.ts";
import { type RatingData, readRatingData } from "./rating-input-store.ts";
import type { Credit, Period, RatedInvoice, RatingInput } from "./rating.ts";

export type AccountRow = Selectable<Tables["accounts"]>;
export type RatedMonth = { month: Month; period: Period; rated: RatedInvoice };

/**
 * Rates what is not invoiced yet, month by month. The result is stable only while the caller holds the accounts' locks.
 */
export async function rateOpenMonths(
  db: Db | Tx,
  accounts: readonly AccountRow[],
  until: Date,
): Promise<Map<number, RatedMonth[]>> {
  const rated = new Map<number, RatedMonth[]>();
  // Nearly always one group: all were invoiced up to the same day.
  for (const [since, group] of Map.groupBy(accounts, openSince)) {
    const period = { from: startOf(since), until };
    const ids = group.map(({ id }) => id);
    const ratingData = await readRatingData(db, ids, period);
    for (const account of group) {
      const own = ratingData.get(account.id);
      if (own !== undefined) rated.set(account.id, rateMonths(own, billToOf(account), period.from, until));
    }
  }
  return rated;
}

/** There is no usage before the account was created. */
const openSince = ({ invoiced_through, created_at }: AccountRow): string =>
  monthOf(invoiced_through < created_at ? created_at : invoiced_through);

export const billToOf = (account: AccountRow): BillTo => ({
  company: account.company,
  first_name: account.first_name,
  last_name: account.last_name,
  address_1: account.address_1,
  address_2: account.address_2,
  city: account.city,
  state: account.state,
  zip: account.zip,
  country: account.country,
  tax_id: account.tax_id,
  email: account.contact_email ?? account.email,
});

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
