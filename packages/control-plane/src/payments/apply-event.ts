import { postRefund } from "#billing/index.ts";
import type { ProviderEvent } from "#payment-provider/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { addMethod } from "./add-method.ts";
import { type ChargeRow, keyOf, microsOfCents, nameOf } from "./charge.ts";
import { findAccountUuid, lockAccount, lockCharge } from "./charge-store.ts";
import type { ChargeDeps } from "./deps.ts";
import { insertRefund, rememberEvent } from "./event-store.ts";
import { type Settled, settleLocked, notifyProcesses } from "./settle-charge.ts";

type OfCharge = Exclude<ProviderEvent, { of: "card added" }>;

/**
 * Applies an event of the provider once, in the transaction that acts on it: the provider repeats events that were not
 * accepted.
 */
export async function applyEvent(deps: ChargeDeps, event: ProviderEvent): Promise<void> {
  const settled = await transact(deps.db, "charge.event", async (tx) => {
    if (!(await rememberEvent(tx, event, deps.clock()))) return undefined;
    if (event.of === "card added") return addCard(tx, event, deps.clock());
    const charge = await lockCharge(tx, event.chargeId);
    // A charge of another installation with the same number.
    if (charge === undefined || keyOf(nameOf(charge, await findAccountUuid(tx, charge.account_id))) !== keyOf(event))
      return undefined;
    return applyTo(tx, deps, charge, event);
  });
  if (settled?.now === true) await notifyProcesses(deps, settled.charge);
}

/** Somebody of the account added it on the provider's page. */
async function addCard(tx: Tx, { accountUuid, card }: Extract<ProviderEvent, { of: "card added" }>, at: Date) {
  const account = await tx.selectFrom("accounts").select("id").where("euuid", "=", accountUuid).executeTakeFirst();
  if (account === undefined) return undefined;
  const event = "payment_method_add";
  await addMethod(tx, { accountId: account.id, card, isDefault: false, event, by: undefined, at });
  return undefined;
}

/** In any order: a refund implies the payment, and a payment overrides a decline. */
async function applyTo(tx: Tx, deps: ChargeDeps, charge: ChargeRow, event: OfCharge): Promise<Settled> {
  if (event.of === "charge declined")
    return settleLocked(tx, deps, charge, { status: "declined", reason: event.reason });
  if (microsOfCents(event.amountCents) !== charge.amount_micros)
    throw new Error(`Charge ${charge.id} is of ${charge.amount_micros} here, and of ${event.amountCents} cents there.`);
  const settled = await settleLocked(tx, deps, charge, { status: "succeeded", providerId: event.providerId });
  if (event.of === "refund") await refund(tx, settled.charge, microsOfCents(event.refundedCents), deps.clock());
  return settled;
}

/** The provider reports totals: an older event that arrives late adds nothing. */
async function refund(tx: Tx, charge: ChargeRow, refundedMicros: number, at: Date): Promise<void> {
  const amountMicros = refundedMicros - charge.refunded_micros;
  if (amountMicros <= 0) return;
  const source = await insertRefund(tx, charge, amountMicros, at);
  await lockAccount(tx, charge.account_id);
  await postRefund(tx, { accountId: charge.account_id, source, amountMicros, at });
  await audit(tx, {
    at,
    account: charge.account_id,
    actor: "payment provider",
    action: "refund_charge",
    target: `charges/${charge.id}`,
  });
}
