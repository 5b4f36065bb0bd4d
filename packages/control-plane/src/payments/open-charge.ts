import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { beingMade, type ChargeRow, leaseUntil, type Purpose } from "./charge.ts";
import { findPending, insertCharge } from "./charge-store.ts";
import { requireChargesCurrent } from "./require-charges-current.ts";

export type NewCharge = {
  accountId: number;
  purpose: Purpose;
  /** Whole cents. */
  amountMicros: number;
  methodId: number;
  /** Null: charged automatically. */
  username: string | null;
  /** Data for the action after settlement. */
  input?: Record<string, unknown>;
  at: Date;
};

/**
 * Records the intent to charge. The provider is called only after the commit: the caller then calls `pursueCharge`, and
 * if that process dies, the job does. Refused while the provider may have charges that this database lost.
 */
export async function openCharge(tx: Tx, charge: NewCharge): Promise<ChargeRow> {
  const { accountId, purpose, amountMicros, methodId, username, input = {}, at } = charge;
  await requireChargesCurrent(tx);
  // Checked first: an insert next to a charge that is being settled would wait for it while holding our locks.
  const pending = await findPending(tx, accountId);
  if (pending !== undefined) throw beingMade(pending);
  const opened = await insertCharge(tx, {
    account_id: accountId,
    purpose,
    amount_micros: amountMicros,
    payment_method_id: methodId,
    input: JSON.stringify(input),
    username,
    created_at: at,
    due_at: leaseUntil(at),
  });
  if (opened === undefined) throw beingMade({ amount_micros: amountMicros });
  await audit(tx, {
    at,
    account: accountId,
    actor: username ?? "moorage",
    action: "open_charge",
    target: `charges/${opened.id}`,
    detail: { purpose },
  });
  return opened;
}
