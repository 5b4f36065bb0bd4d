import { accountEntity } from "@moorage/contract";
import { sql } from "kysely";
import { balanceOf, inDollars } from "#billing/index.ts";
import { raise, resolve } from "#notifications/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { ChargeRow } from "./charge.ts";
import type { AccountOfCharge } from "./charge-store.ts";
import { texts } from "./texts.ts";

/** Days between retries after a decline; after the last one the tenant has to pay. */
export const RETRY_DAYS = [1, 3, 7] as const;
const DAY_MS = 86_400_000;

/**
 * In the transaction that writes invoices: schedules a charge of what these accounts owe, unless a partner bills them.
 * An account without a default method waits for one. The amount is the balance at the time of the charge, so that
 * nobody pays twice.
 */
export const scheduleAutopay = (
  tx: Tx,
  invoiced: readonly { accountId: number; amountMicros: number }[],
  at: Date,
): Promise<unknown> =>
  sql`
    insert into autopay (account_id, declines, due_at)
    select accounts.id, 0, case when exists (
      select from payment_methods where account_id = accounts.id and is_default and deleted_at is null) then ${at}::timestamptz end
    from accounts
    where accounts.id = any(${invoiced.flatMap((each) => (each.amountMicros > 0 ? [each.accountId] : []))}::bigint[])
      and billing_source = 'operator'
    on conflict (account_id) do update set declines = 0, due_at = excluded.due_at`.execute(tx);

/** After a change of the default method: retries once with the new one. */
export const tryNewDefault = (tx: Tx, accountId: number, at: Date): Promise<unknown> =>
  tx.updateTable("autopay").set({ due_at: at }).where("account_id", "=", accountId).execute();

const causeOf = ({ id, company }: AccountOfCharge) => ({
  accountId: id,
  entity: accountEntity(company),
  cause: "autopay",
});

/** Adjusts the schedule after a charge of the account has ended. */
export async function settleAutopay(tx: Tx, charge: ChargeRow, account: AccountOfCharge, at: Date): Promise<void> {
  if (charge.status === "declined") {
    if (charge.purpose === "invoice") await tryAgainLater(tx, charge, account, at);
    return;
  }
  if ((await balanceOf(tx, account.id)) <= 0) await endAutopay(tx, account);
}

/** Nothing is owed any more. */
export async function endAutopay(tx: Tx, account: AccountOfCharge): Promise<void> {
  await tx.deleteFrom("autopay").where("account_id", "=", account.id).execute();
  await resolve(tx, causeOf(account));
}

async function tryAgainLater(tx: Tx, charge: ChargeRow, account: AccountOfCharge, at: Date): Promise<void> {
  const { declines } = await tx
    .insertInto("autopay")
    .values({ account_id: account.id, declines: 1, due_at: null })
    .onConflict((conflict) => conflict.column("account_id").doUpdateSet({ declines: sql`autopay.declines + 1` }))
    .returning("declines")
    .executeTakeFirstOrThrow();
  const days = RETRY_DAYS[declines - 1];
  const next = days === undefined ? null : new Date(at.getTime() + days * DAY_MS);
  await tx.updateTable("autopay").set({ due_at: next }).where("account_id", "=", account.id).execute();
  const failed = { amount: inDollars(charge.amount_micros), why: charge.reason ?? texts.declined().text };
  const message =
    next === null
      ? texts.autopayGivenUp(failed)
      : texts.autopayDeclined({ ...failed, on: next.toISOString().slice(0, 10) });
  await raise(
    tx,
    causeOf(account),
    {
      type: "payment_due",
      severity: next === null ? "critical" : "major",
      label: texts.autopayDeclinedLabel(),
      message,
      body: null,
    },
    at,
  );
}
