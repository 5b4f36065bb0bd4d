import type { Insertable, Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readCredits } from "./rating-input-store.ts";
import type { Adjustment, Credit } from "./rating.ts";
import { texts } from "./texts.ts";

type CreditRow = Selectable<Tables["credits"]>;
type NewCredit = Omit<Insertable<Tables["credits"]>, "id" | "granted_at">;
type NewAdjustment = { accountId: number; invoiceId: number | null; label: string; amountMicros: number };

/** Later than every invoice: counts everything used so far. */
const ALWAYS = "infinity";

export const listCredits = async (db: Db | Tx, accountId: number): Promise<Credit[]> =>
  (await readCredits(db, [accountId], ALWAYS)).sort((a, b) => a.id - b.id);

/** One per account and summary, so that the command can be repeated. It does not apply to invoiced months. */
export async function grantCredit(tx: Tx, credit: NewCredit, now: Date): Promise<CreditRow> {
  const { account_id, summary, credit_micros, monthly_cap_micros, expires_at } = credit;
  const { at } = await lockBilling(tx, account_id, now);
  const granted = await tx
    .selectFrom("credits")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("summary", "=", summary)
    .executeTakeFirst();
  if (granted === undefined)
    return tx
      .insertInto("credits")
      .values({ ...credit, granted_at: at })
      .returningAll()
      .executeTakeFirstOrThrow();
  const isSame =
    granted.credit_micros === credit_micros &&
    granted.monthly_cap_micros === monthly_cap_micros &&
    granted.expires_at?.getTime() === expires_at?.getTime();
  if (isSame) return granted;
  throw new DomainError("wrong-state", { reason: texts.creditExists({ accountId: account_id, summary }) });
}

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

/**
 * Locks the account against its month end. `at` is the time at which a change written now counts: invoiced months do
 * not change.
 */
async function lockBilling(tx: Tx, accountId: number, now: Date): Promise<{ at: Date; closed: boolean }> {
  const { invoiced_through, closed_at } = await tx
    .selectFrom("accounts")
    .select(["invoiced_through", "closed_at"])
    .where("id", "=", accountId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(notFound);
  return { at: now > invoiced_through ? now : invoiced_through, closed: closed_at !== null };
}
