import { toTimestamp } from "@moorage/contract";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import type { TaxRate } from "./rating.ts";
import { texts } from "./texts.ts";

/** The source of tax rates: the operator's own table, or an external service. */
export type Taxes = {
  /** All rates in force at the end of a period. The answer for the same time never changes. */
  ratesAt(db: Db | Tx, until: Date): Promise<TaxRate[]>;
};

export const taxTable: Taxes = {
  ratesAt: (db, until) =>
    db
      .selectFrom("tax_rates")
      .selectAll()
      .where("valid_from", "<", until)
      .where((is) => is.or([is("valid_until", "is", null), is("valid_until", ">=", until)]))
      .execute(),
};

type TaxKey = Pick<TaxRate, "country" | "state" | "name">;

export const listTaxRates = (db: Db | Tx): Promise<TaxRate[]> =>
  db
    .selectFrom("tax_rates")
    .selectAll()
    .orderBy("country")
    .orderBy("state")
    .orderBy("name")
    .orderBy("valid_from")
    .execute();

type NewRate = Pick<TaxRate, "rate_ppm" | "waived_by_tax_id">;

/** Adds a tax, or changes its rate, from now or later on: invoices keep their rate. */
export async function setTax(
  tx: Tx,
  key: TaxKey,
  rate: NewRate,
  { from, now }: { from: Date; now: Date },
): Promise<TaxRate> {
  if (from < now) throw invalid("from", texts.taxChangeTooEarly({ now: toTimestamp(now) }));
  await close(tx, key, from);
  const next = (await versionsOf(tx, key)).find(({ valid_from }) => valid_from > from);
  const version = { ...key, valid_from: from, valid_until: next?.valid_from ?? null, ...rate };
  return tx
    .insertInto("tax_rates")
    .values(version)
    .onConflict((conflict) => conflict.columns(["country", "state", "name", "valid_from"]).doUpdateSet(version))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Ends a tax from now or later on; later rates are dropped. */
export async function endTax(tx: Tx, key: TaxKey, { at, now }: { at: Date; now: Date }): Promise<TaxRate[]> {
  if (at < now) throw invalid("at", texts.taxChangeTooEarly({ now: toTimestamp(now) }));
  const versions = await versionsOf(tx, key);
  if (!versions.some(({ valid_until }) => valid_until === null || valid_until > at))
    throw new DomainError("not-found", {
      reason: texts.taxNotInForce({ name: key.name, place: [key.country, key.state].filter(Boolean).join(", ") }),
    });
  await tx
    .deleteFrom("tax_rates")
    .where((is) => is.and(key))
    .where("valid_from", ">=", at)
    .execute();
  await close(tx, key, at);
  return versionsOf(tx, key);
}

const close = (tx: Tx, key: TaxKey, at: Date): Promise<unknown> =>
  tx
    .updateTable("tax_rates")
    .set({ valid_until: at })
    .where((is) => is.and(key))
    .where("valid_from", "<", at)
    .where((is) => is.or([is("valid_until", "is", null), is("valid_until", ">", at)]))
    .execute();

const versionsOf = (tx: Tx, key: TaxKey): Promise<TaxRate[]> =>
  tx
    .selectFrom("tax_rates")
    .selectAll()
    .where((is) => is.and(key))
    .orderBy("valid_from")
    .forUpdate()
    .execute();
