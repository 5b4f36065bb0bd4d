import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { texts } from "./texts.ts";

const HOUR_MS = 3_600_000;
/** A plan's first price applies from the start of time: no resource can have had the plan before. */
const EVER = new Date("2000-01-01T00:00:00Z");

export type PriceVersion = Selectable<Tables["prices"]>;
/** By plan, the oldest first. */
export type PriceBook = ReadonlyMap<string, readonly PriceVersion[]>;

export type Price = Omit<PriceVersion, "plan" | "valid_from">;
export const free: Price = {
  hourly_micros: 0,
  monthly_micros: 0,
  suspended_hourly_micros: 0,
  suspended_monthly_micros: 0,
};

/**
 * Sets the price of a plan's nodes from a full hour on: the next one, or a later one. A price in force is never
 * changed, so that an invoice can be reproduced. A future price can be set again.
 */
export async function setPrice(
  tx: Tx,
  plan: string,
  price: Price,
  { from, now }: { from?: Date | undefined; now: Date },
): Promise<PriceVersion> {
  requireSensible(price);
  const next = nextHour(now);
  const isFirst = (await findPrice(tx, plan, now)) === undefined;
  if (from !== undefined && isFirst)
    throw new DomainError("invalid", { field: "from", reason: texts.firstPriceWithFrom() });
  if (from !== undefined && (from < next || from.getTime() % HOUR_MS !== 0))
    throw invalid("from", texts.priceTooEarly({ earliest: next.toISOString() }));
  const version = { plan, valid_from: from ?? (isFirst ? EVER : next), ...price };
  await tx
    .insertInto("prices")
    .values(version)
    .onConflict((conflict) => conflict.columns(["plan", "valid_from"]).doUpdateSet(price))
    .execute();
  return version;
}

/** For a plan that is created again: without a price it keeps its own, and an equal price adds no new version. */
export async function keepPrice(tx: Tx, plan: string, price: Price | undefined, now: Date): Promise<void> {
  const upcoming = await findPrice(tx, plan, nextHour(now));
  const desired = price ?? upcoming ?? free;
  const keys = Object.keys(desired) as (keyof Price)[];
  if (upcoming === undefined || keys.some((key) => upcoming[key] !== desired[key]))
    await setPrice(tx, plan, desired, { now });
}

/** The monthly maximum must cover at least one hour; otherwise a plan with a price could be free. */
function requireSensible(price: Price): void {
  if (price.monthly_micros < price.hourly_micros) throw invalid("monthly", texts.monthlyPriceTooLow());
  if (price.suspended_monthly_micros < price.suspended_hourly_micros)
    throw invalid("suspended_monthly", texts.suspendedMonthlyPriceTooLow());
}

const nextHour = (now: Date): Date => new Date((Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS);

const findPrice = (tx: Tx, plan: string, at: Date): Promise<PriceVersion | undefined> =>
  pricesAt(tx, at).where("plan", "=", plan).executeTakeFirst();

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
