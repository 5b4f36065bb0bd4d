import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { WholeAccount } from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { emailOf, reopenAccount } from "#account/index.ts";
import { balanceOf, estimate, toDollars, viewCredits } from "#billing/index.ts";
import { grantCapability, revokeCapability, saveAccount, setLimits, showAvailability } from "#identity/index.ts";
import { findDefaultMethod } from "#payments/index.ts";
import type { Db } from "#platform/db/database.ts";
import { findAccount, findAccountRow, listAccounts, viewOf } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";

export function accountCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listAccounts, ({ page }) => listAccounts(db, page));

  operatorRoute(app, contract.viewAccount, ({ params }) => showAccount(db, params.accountId, clock()));

  command(app, deps, contract.saveAccount, async (tx, { body }) => {
    const { id } = await saveAccount(tx, body, clock());
    return findAccount(tx, id);
  });

  command(app, deps, contract.setAccountLimits, async (tx, { params, body }) => {
    const { id } = await findAccount(tx, params.accountId);
    await setLimits(tx, id, body);
    return findAccount(tx, id);
  });

  command(app, deps, contract.setCapability, async (tx, { params, body }) => {
    const { id } = await findAccount(tx, params.accountId);
    await (body.granted ? grantCapability : revokeCapability)(tx, id, body.capability);
    return findAccount(tx, id);
  });

  command(app, deps, contract.showAvailability, async (tx, { params, body: { on } }) => {
    const { id } = await findAccount(tx, params.accountId);
    await showAvailability(tx, id, on);
    return { id, sees_availability: on };
  });

  const reopen: Run<typeof contract.reopenAccount> = async (tx, { params }) => {
    const { id } = await findAccount(tx, params.accountId);
    await reopenAccount(tx, id, clock());
    return findAccount(tx, id);
  };
  command(app, deps, contract.reopenAccount, reopen, "identity");
}

/** Everything about one account: its data, its balance, and why it was cancelled if it was. */
async function showAccount(db: Db, id: number, now: Date): Promise<WholeAccount> {
  const row = await findAccountRow(db, id);
  const card = await findDefaultMethod(db, row.id);
  const uninvoiced = await estimate(db, row.id, now);
  const { first_name, last_name, address_1, address_2, city, state, zip, country, phone, tax_id } = row;
  return {
    ...viewOf(row),
    contact: {
      email: emailOf(row),
      first_name,
      last_name,
      phone,
      address_1,
      address_2,
      city,
      state,
      zip,
      country,
      tax_id,
    },
    billing_source: row.billing_source,
    balance: toDollars(await balanceOf(db, row.id)),
    balance_uninvoiced: toDollars(uninvoiced.total_micros),
    invoiced_through: toTimestamp(row.invoiced_through),
    credits: await viewCredits(db, row.id, now, uninvoiced),
    card: card === undefined ? null : { type: card.card_type, last_four: card.last_four },
    sees_availability: row.sees_availability,
    cancellation: row.closed_at === null ? null : await findCancellation(db, row.id),
  };
}

async function findCancellation(db: Db, accountId: number) {
  const line = await db
    .selectFrom("audit")
    .select(["actor", "detail"])
    .where("account_id", "=", accountId)
    .where("action", "=", "cancel_account")
    .orderBy("id", "desc")
    .executeTakeFirst();
  if (line === undefined) return null;
  const { comments, invoice } = line.detail as { comments?: string; invoice?: number };
  return { by: line.actor, comments: comments ?? "", invoice: invoice ?? null };
}
