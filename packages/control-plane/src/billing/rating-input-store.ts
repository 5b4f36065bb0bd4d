import { sql } from "kysely";
import { pricesDuring, usageOf } from "#metering/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { type Month, monthOf, monthsOf } from "./months.ts";
import type { Adjustment, Period, Credit, RatingInput } from "./rating.ts";
import { taxTable } from "./tax-table.ts";

/** The input of an account's invoices for some months, without the billing address and the tax rates. */
export type RatingData = Omit<RatingInput, "period" | "billTo" | "taxRates"> & {
  taxRates: ReadonlyMap<Month, RatingInput["taxRates"]>;
};

/** Reads any number of accounts with a fixed number of statements. The period begins with a month. */
export async function readRatingData(
  db: Db | Tx,
  accountIds: readonly number[],
  period: Period,
): Promise<Map<number, RatingData>> {
  const prices = await pricesDuring(db, period);
  const taxRates = new Map<Month, RatingInput["taxRates"]>();
  for (const { month, period: each } of monthsOf(period.from, period.until))
    taxRates.set(month, await taxTable.ratesAt(db, each.until));
  const facts = await usageOf(db, accountIds, period);
  const credits = byAccount(await readCredits(db, accountIds, monthOf(period.from)));
  const adjustments = byAccount(await readAdjustments(db, accountIds, period));
  return new Map(
    accountIds.map((id) => [
      id,
      {
        prices,
        taxRates,
        facts: facts.get(id) ?? [],
        credits: credits.get(id) ?? [],
        adjustments: adjustments.get(id) ?? [],
      },
    ]),
  );
}

const byAccount = <Row extends { account_id: number }>(rows: readonly Row[]): Map<number, Row[]> =>
  Map.groupBy(rows, ({ account_id }) => account_id);

/** With what the invoices of the months before took from each. */
export const readCredits = async (db: Db | Tx, accountIds: readonly number[], before: Month): Promise<Credit[]> =>
  (
    await sql<Credit>`
      select credits.*, coalesce(used.micros, 0) as used_micros from credits, lateral (
        select -sum(amount_micros) as micros from invoice_items
        join invoices on invoices.account_id = invoice_items.account_id and invoices.id = invoice_items.invoice_id
        where invoice_items.account_id = credits.account_id and credit_id = credits.id and month < ${before}::date
      ) used
      where credits.account_id = any(${accountIds}::bigint[])`.execute(db)
  ).rows;

const readAdjustments = (db: Db | Tx, accountIds: readonly number[], period: Period): Promise<Adjustment[]> =>
  db
    .selectFrom("adjustments")
    .selectAll()
    .where("account_id", "=", sql<number>`any(${accountIds}::bigint[])`)
    .where("at", ">=", period.from)
    .where("at", "<", period.until)
    .execute();
