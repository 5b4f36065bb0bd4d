import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { beingMade, type ChargeRow, leaseUntil, type Purpose } from "./charge.ts";
import { findPending, insertCharge } from "./charge-store.ts";

export type NewCharge = {
  accountId: number;
  purpose: Purpose;
  /** Whole cents. */
  amountMicros: number;
  methodId: number;
  /** Null: nobody asked for it. */
  username: string | null;
  /** What its end needs. */
  input?: Record<string, unknown>;
  at: Date;
};

/**
 * The intent to take money. Nothing is asked of the provider before it is committed: whoever opened it then calls
 * `pursueCharge`, and if that process dies, the chore does.
 */
export async function openCharge(tx: Tx, charge: NewCharge): Promise<ChargeRow> {
  const { accountId, purpose, amountMicros, methodId, username, input = {}, at } = charge;
  // Looked for first: to insert beside one that is being settled would wait for its end with our locks in hand.
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
