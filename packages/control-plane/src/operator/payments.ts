import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { toDollars } from "#billing/index.ts";
import { type ChargeRow, listCharges, listEveryPayment } from "#payments/index.ts";
import type { Db } from "#platform/db/database.ts";
import { toPage } from "#platform/http/page.ts";
import { accountOf } from "./account-store.ts";
import { operatorRoute } from "./operator-route.ts";

export function paymentCommands(app: FastifyInstance, { db }: { db: Db }): void {
  operatorRoute(app, contract.listCharges, async ({ query, page }) => {
    const { rows, results } = await listCharges(db, page, await accountOf(db, query));
    return toPage(page, results, rows.map(viewOfCharge));
  });

  operatorRoute(app, contract.listPayments, async ({ query, page }) => {
    const { rows, results } = await listEveryPayment(db, page, await accountOf(db, query));
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

const viewOfCharge = (charge: ChargeRow): contract.Charge => ({
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
