import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type PriceVersion = Selectable<Tables["prices"]>;
/** By plan, the oldest first. */
export type PriceBook = ReadonlyMap<string, readonly PriceVersion[]>;

/** All prices that were in force at any time in a period. */
export async function pricesDuring(db: Db | Tx, { from, until }: { from: Date; until: Date }): Promise<PriceBook> {
  const rows = await db
    .selectFrom("prices")
    .selectAll()
    .where("valid_from", "<", until)
    .where((is) =>
      is.or([
        is("valid_from", ">=", from),
        is("valid_from", "=", (query) =>
          query
            .selectFrom("prices as before")
            .select(sql<Date>`max(before.valid_from)`.as("newest"))
            .whereRef("before.plan", "=", "prices.plan")
            .where("before.valid_from", "<=", from),
        ),
      ]),
    )
    .orderBy("plan")
    .orderBy("valid_from")
    .execute();
  return Map.groupBy(rows, ({ plan }) => plan);
}

/** The price of each plan at a time, as a query to join. */
export const pricesAt = (db: Db | Tx, at: Date) =>
  db
    .selectFrom("prices")
    .selectAll()
    .distinctOn("plan")
    .where("valid_from", "<=", at)
    .orderBy("plan")
    .orderBy("valid_from", "desc");

export const listPrices = (db: Db | Tx, plan: string): Promise<PriceVersion[]> =>
  db.selectFrom("prices").selectAll().where("plan", "=", plan).orderBy("valid_from").execute();
