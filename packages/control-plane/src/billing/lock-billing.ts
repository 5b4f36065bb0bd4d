import type { Tx } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";

/**
 * Locks the account against its month end. `at` is when something that is written now counts: what was invoiced stays as
 * it is.
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
