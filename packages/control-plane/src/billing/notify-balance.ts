import { accountEntity } from "@moorage/contract";
import { sql } from "kysely";
import { raiseAll, resolve } from "#notifications/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { balanceOf } from "./ledger-store.ts";
import { inDollars } from "./money.ts";
import { texts } from "./texts.ts";

const causeOf = (accountId: number, company: string | null = null) => ({
  accountId,
  entity: accountEntity(company),
  cause: "payment_due",
});

/** The account has a notification for as long as it owes something. */
export async function notifyBalance(tx: Tx, accountId: number, at: Date): Promise<void> {
  await notifyBalances(tx, [[accountId, await balanceOf(tx, accountId)]], at);
}

/**
 * Accounts with their balances. The caller holds the accounts' locks, so that notifications are written in the order of
 * the balances.
 */
export async function notifyBalances(tx: Tx, balances: Iterable<readonly [number, number]>, at: Date): Promise<void> {
  const owing: [number, number][] = [];
  for (const [accountId, micros] of balances)
    if (micros > 0) owing.push([accountId, micros]);
    else await resolve(tx, causeOf(accountId));
  const companies = await companiesOf(
    tx,
    owing.map(([accountId]) => accountId),
  );
  await raiseAll(
    tx,
    owing.map(([accountId, micros]) => [causeOf(accountId, companies.get(accountId)), noticeOf(micros)]),
    at,
  );
}

async function companiesOf(tx: Tx, accountIds: readonly number[]): Promise<Map<number, string>> {
  const rows = await tx
    .selectFrom("accounts")
    .select(["id", "company"])
    .where("id", "=", sql<number>`any(${accountIds}::bigint[])`)
    .execute();
  return new Map(rows.map(({ id, company }) => [id, company]));
}

const noticeOf = (micros: number) => ({
  type: "payment_due",
  severity: "major" as const,
  label: texts.paymentDueLabel(),
  message: texts.paymentDue({ amount: inDollars(micros) }),
  body: null,
});
