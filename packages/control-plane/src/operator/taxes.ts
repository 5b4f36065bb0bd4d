import { toDate, toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { endTax, listTaxRates, setTax, type TaxRate } from "#billing/index.ts";
import { command, type CommandDeps, operatorRoute } from "./operator-route.ts";

/** A millionth is the smallest step of a rate: four decimals of a percent. */
const PPM_DIGITS = 4;

/** Taxes on the bills of accounts, by their address. */
export function taxCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listTaxes, async () => ({ data: (await listTaxRates(db)).map(viewOf) }));

  command(app, deps, contract.setTax, async (tx, { body: { percent, from, waived_by_tax_id, ...key } }) => {
    const now = clock();
    const rate = { rate_ppm: toPpm(percent), waived_by_tax_id };
    return viewOf(await setTax(tx, key, rate, { from: from === undefined ? now : toDate(from), now }));
  });

  command(app, deps, contract.endTax, async (tx, { body: { at, ...key } }) => {
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
