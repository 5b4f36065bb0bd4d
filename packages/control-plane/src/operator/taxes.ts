import { Moment, toDate, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { endTax, listTaxRates, setTax, type TaxRate } from "#billing/index.ts";
import { command, type CommandDeps } from "./command.ts";
import { Name } from "./fields.ts";

/** A millionth is the smallest step of a rate: four decimals of a percent. */
const PPM_DIGITS = 4;
const Percent = z
  .string()
  .regex(/^\d{1,2}(?:\.\d{1,4})?$/, 'a percentage below 100 as text, with at most 4 decimals, such as "9.975"');
const Place = z.object({
  country: z
    .string()
    .regex(/^[a-z]{2}$/i, "two letters, such as DE")
    .transform((code) => code.toUpperCase()),
  /** Empty: the whole country. */
  state: z.string().max(64).default(""),
  name: Name,
});
const Tax = Place.extend({
  percent: Percent,
  from: Moment.optional(),
  waived_by_tax_id: z.boolean().default(false),
});
const End = Place.extend({ at: Moment.optional() });

/** Taxes on the bills of accounts, by their address. */
export function taxCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get("/admin/taxes", async () => ({ data: (await listTaxRates(db)).map(viewOf) }));

  command(app, deps, { path: "/admin/taxes", body: Tax }, async (tx, { percent, from, waived_by_tax_id, ...key }) => {
    const now = clock();
    const rate = { rate_ppm: toPpm(percent), waived_by_tax_id };
    return viewOf(await setTax(tx, key, rate, { from: from === undefined ? now : toDate(from), now }));
  });

  command(app, deps, { path: "/admin/taxes/end", body: End }, async (tx, { at, ...key }) => {
    const now = clock();
    return { data: (await endTax(tx, key, { at: at === undefined ? now : toDate(at), now })).map(viewOf) };
  });
}

function toPpm(percent: string): number {
  const [whole = "", fraction = ""] = percent.split(".");
  return Number(whole + fraction.padEnd(PPM_DIGITS, "0"));
}

const viewOf = ({ country, state, name, valid_from, valid_until, rate_ppm, waived_by_tax_id }: TaxRate) => ({
  country,
  state,
  name,
  waived_by_tax_id,
  percent: String(rate_ppm / 10 ** PPM_DIGITS),
  from: toTimestamp(valid_from),
  until: valid_until === null ? null : toTimestamp(valid_until),
});
