import type { Tx } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";

/**
 * Locks the account against its month end. `at` is the time at which a change written now counts: invoiced months do
 * not change.
 */
export async function lockBilling(tx: Tx, accountId: number, now: Date): Promise<{ at: Date; closed: boolean }> {
  const { invoiced_through, closed_at } = await tx
    .selectFrom("accounts")
    .select(["invoiced_through", "closed_at"])
    .where("id", "=", accountId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(notFound);
  return { at: now > invoiced_through ? now : invoiced_through, closed: closed_at !== null };
}
