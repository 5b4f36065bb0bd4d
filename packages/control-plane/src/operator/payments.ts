import { toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { toDollars } from "#billing/index.ts";
import { type ChargeRow, listCharges, listEveryPayment } from "#payments/index.ts";
import type { Db } from "#platform/db/database.ts";
import { readPage, toPage } from "#platform/http/page.ts";
import { findAccount } from "./account-store.ts";

type OfAccount = { Querystring: { account?: string } };

export function paymentCommands(app: FastifyInstance, { db }: { db: Db }): void {
  const idOf = async (account: string | undefined): Promise<number | undefined> =>
    account === undefined ? undefined : (await findAccount(db, account)).id;

  app.get<OfAccount>("/admin/charges", async ({ query }) => {
    const page = readPage(query);
    const { rows, results } = await listCharges(db, page, await idOf(query.account));
    return toPage(page, results, rows.map(viewOfCharge));
  });

  app.get<OfAccount>("/admin/payments", async ({ query }) => {
    const page = readPage(query);
    const { rows, results } = await listEveryPayment(db, page, await idOf(query.account));
    const views = rows.map(({ id, account_id, charge_id, at, amount_micros }) => ({
      id,
      account: account_id,
      charge: charge_id,
      date: toTimestamp(at),
      usd: toDollars(amount_micros),
    }));
    return toPage(page, results, views);
  });
}

const viewOfCharge = (charge: ChargeRow) => ({
  id: charge.id,
  account: charge.account_id,
  purpose: charge.purpose,
  usd: toDollars(charge.amount_micros),
  refunded_usd: toDollars(charge.refunded_micros),
  status: charge.status,
  reason: charge.reason,
  provider_id: charge.provider_id,
  attempts: charge.attempts,
  created: toTimestamp(charge.created_at),
  settled: charge.settled_at === null ? null : toTimestamp(charge.settled_at),
});
