import { postRefund } from "#billing/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { lockAccount } from "./charge-store.ts";
import type { ChargeRow } from "./charge.ts";

/** The provider reports totals: an older event that arrives late adds nothing. */
export async function refundCharge(tx: Tx, charge: ChargeRow, refundedMicros: number, at: Date): Promise<void> {
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

async function insertRefund(tx: Tx, charge: ChargeRow, amountMicros: number, at: Date): Promise<number> {
  const { account_id, id } = charge;
  await tx
    .updateTable("charges")
    .set({ refunded_micros: charge.refunded_micros + amountMicros })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const { id: refundId } = await tx
    .insertInto("refunds")
    .values({ account_id, charge_id: id, at, amount_micros: amountMicros })
    .returning("id")
    .executeTakeFirstOrThrow();
  return refundId;
}
