import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { lockBilling } from "./lock-billing.ts";
import type { Adjustment } from "./rating.ts";
import { texts } from "./texts.ts";

export type NewAdjustment = { accountId: number; invoiceId: number | null; label: string; amountMicros: number };

/**
 * Adds an operator's line to the open month: a final invoice never changes, so its errors are corrected here. Label and
 * invoice identify the line, so that the command can be repeated.
 */
export async function adjust(
  tx: Tx,
  { accountId, invoiceId, label, amountMicros }: NewAdjustment,
  now: Date,
): Promise<Adjustment> {
  const { at, closed } = await lockBilling(tx, accountId, now);
  const written = await tx
    .selectFrom("adjustments")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("invoice_id", "is not distinct from", invoiceId)
    .where("label", "=", label)
    .executeTakeFirst();
  if (written?.amount_micros === amountMicros) return written;
  if (written !== undefined) throw new DomainError("wrong-state", { reason: texts.adjustmentExists({ label }) });
  if (closed) throw new DomainError("wrong-state", { reason: texts.adjustmentAccountClosed({ accountId }) });
  return tx
    .insertInto("adjustments")
    .values({ account_id: accountId, invoice_id: invoiceId, label, amount_micros: amountMicros, at })
    .returningAll()
    .executeTakeFirstOrThrow();
}
