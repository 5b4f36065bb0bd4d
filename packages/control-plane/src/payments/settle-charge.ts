import { accountEntity } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { postPayment } from "#billing/index.ts";
import { emit } from "#events/index.ts";
import { audit } from "#platform/db/audit.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { settleAutopay } from "./autopay.ts";
import { type AccountOfCharge, lockAccount, lockCharge, saveOutcome } from "./charge-store.ts";
import type { ChargeRow } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { insertPayment } from "./payment-store.ts";

export type Outcome = { status: "succeeded"; providerId: string } | { status: "declined"; reason: Text };
export type Settled = { charge: ChargeRow; now: boolean };

export async function settleCharge(deps: ChargeDeps, id: number, outcome: Outcome): Promise<ChargeRow> {
  const settled = await transact(deps.db, "charge.settle", async (tx) => {
    const charge = await lockCharge(tx, id);
    if (charge === undefined) throw new Error(`There is no charge ${id}.`);
    return settleLocked(tx, deps, charge, outcome);
  });
  if (settled.now) await notifyProcesses(deps, settled.charge);
  return settled.charge;
}

/** Closing an account invalidates its tokens, which processes must drop from their caches. */
export async function notifyProcesses({ db }: ChargeDeps, { purpose, status }: ChargeRow): Promise<void> {
  if (purpose === "cancel" && status === "succeeded") await notify(db, "identity");
}

/**
 * Settles a locked charge once: the outcome may come from the provider's answer, its events and the job. A successful
 * payment counts even for a charge that was given up: it is credited to the account, without any further action.
 */
export async function settleLocked(tx: Tx, deps: ChargeDeps, charge: ChargeRow, outcome: Outcome): Promise<Settled> {
  const givenUp = charge.status === "declined" && outcome.status === "succeeded";
  if (charge.status !== "pending" && !givenUp) return { charge, now: false };
  const at = deps.clock();
  const settled = await saveOutcome(tx, charge, {
    status: outcome.status,
    reason: outcome.status === "declined" ? outcome.reason.text : null,
    provider_id: outcome.status === "succeeded" ? outcome.providerId : null,
    settled_at: at,
  });
  if (outcome.status === "succeeded" && !givenUp) await deps.whenSettled[charge.purpose]?.(tx, settled, at);
  // Locked only now: the action of a charge may lock other rows, which come before the account in the lock order.
  const account = await lockAccount(tx, charge.account_id);
  await audit(tx, {
    at,
    account: charge.account_id,
    actor: charge.username ?? "moorage",
    action: outcome.status === "succeeded" ? "settle_charge" : "decline_charge",
    target: `charges/${charge.id}`,
    detail: { purpose: charge.purpose },
  });
  if (outcome.status === "succeeded") await credit(tx, settled, account, at);
  else await settleAutopay(tx, settled, account, at);
  return { charge: settled, now: true };
}

async function credit(tx: Tx, charge: ChargeRow, account: AccountOfCharge, at: Date): Promise<void> {
  const payment = await insertPayment(tx, charge, at);
  await postPayment(tx, {
    accountId: charge.account_id,
    source: payment.id,
    amountMicros: charge.amount_micros,
    at,
  });
  await settleAutopay(tx, charge, account, at);
  // The API emits both events for every payment, although no method is added.
  for (const action of ["payment_method_add", "payment_submitted"] as const)
    await emit(tx, {
      accountId: charge.account_id,
      username: charge.username,
      action,
      status: "notification",
      entity: accountEntity(account.company),
      at,
    });
}
