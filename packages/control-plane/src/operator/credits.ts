import { toDate, toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { type Credit, grantCredit, listCredits } from "#billing/index.ts";
import { toDollars, toMicros } from "#platform/money.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute } from "./operator-route.ts";

/** Credits of an account, and how much of each a month may use. */
export function creditCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listCredits, async ({ params }) => {
    const { id } = await findAccount(db, params.accountId);
    return { data: (await listCredits(db, id)).map(viewOf) };
  });

  command(app, deps, contract.grantCredit, async (tx, { params, body }) => {
    const { credit, monthly_cap, expires, ...words } = body;
    const account = await findAccount(tx, params.accountId);
    const granted = await grantCredit(
      tx,
      {
        account_id: account.id,
        ...words,
        credit_micros: toMicros(credit),
        monthly_cap_micros: toMicros(monthly_cap ?? credit),
        expires_at: expires === undefined ? null : toDate(expires),
      },
      clock(),
    );
    const [saved] = (await listCredits(tx, account.id)).filter(({ id }) => id === granted.id);
    return viewOf(saved as Credit);
  });
}

const viewOf = (credit: Credit): contract.Credit => ({
  id: credit.id,
  summary: credit.summary,
  description: credit.description,
  credit: toDollars(credit.credit_micros),
  monthly_cap: toDollars(credit.monthly_cap_micros),
  remaining: toDollars(credit.credit_micros - credit.used_micros),
  granted: toTimestamp(credit.granted_at),
  expires: credit.expires_at === null ? null : toTimestamp(credit.expires_at),
});
