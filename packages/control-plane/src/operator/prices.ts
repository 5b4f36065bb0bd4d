import { Moment, toDate, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { listPrices, type Price, type PriceVersion, setPrice } from "#metering/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { findPlan } from "#regions/index.ts";
import { command, type CommandDeps } from "./command.ts";
import { Dollars, toDollars, toMicros } from "./micro-dollars.ts";
import { texts } from "./texts.ts";

/** For a node: the hourly price, the monthly maximum, and the same while it is suspended. */
export const PlanPrice = z.object({
  hourly: Dollars,
  monthly: Dollars,
  suspended_hourly: Dollars.default("0"),
  suspended_monthly: Dollars.default("0"),
});
const NewPrice = PlanPrice.extend({ from: Moment.optional() });

export function priceCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get("/admin/plans/:id/prices", async (request) => {
    const { id } = request.params as { id: string };
    await requirePlan(db, id);
    return { data: (await listPrices(db, id)).map(viewOf) };
  });
  command(
    app,
    deps,
    { path: "/admin/plans/:id/prices", body: NewPrice },
    async (tx, { from, ...price }, { id = "" }) => {
      await requirePlan(tx, id);
      const start = from === undefined ? undefined : toDate(from);
      return viewOf(await setPrice(tx, id, toPrice(price), { from: start, now: clock() }));
    },
  );
}

export const toPrice = (price: z.output<typeof PlanPrice>): Price => ({
  hourly_micros: toMicros(price.hourly),
  monthly_micros: toMicros(price.monthly),
  suspended_hourly_micros: toMicros(price.suspended_hourly),
  suspended_monthly_micros: toMicros(price.suspended_monthly),
});

export const viewOfPrice = (price: Price) => ({
  hourly: toDollars(price.hourly_micros),
  monthly: toDollars(price.monthly_micros),
  suspended_hourly: toDollars(price.suspended_hourly_micros),
  suspended_monthly: toDollars(price.suspended_monthly_micros),
});

const viewOf = (version: PriceVersion) => ({ from: toTimestamp(version.valid_from), ...viewOfPrice(version) });

async function requirePlan(db: Db | Tx, id: string): Promise<void> {
  if ((await findPlan(db, id)) === undefined) throw new DomainError("not-found", { reason: texts.planUnknown({ id }) });
}
