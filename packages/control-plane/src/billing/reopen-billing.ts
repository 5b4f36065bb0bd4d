import type { Tx } from "#platform/db/database.ts";
import { endOf, monthOf, startOf } from "./months.ts";

/**
 * For an account that is reopened. The month in which it was closed has its final invoice, and there is one invoice per
 * month: the rest of that month is free, and the next month is billed as usual.
 */
export async function reopenBilling(tx: Tx, account: { id: number; invoiced_through: Date }): Promise<void> {
  const month = monthOf(account.invoiced_through);
  if (account.invoiced_through.getTime() === startOf(month).getTime()) return;
  await tx
    .updateTable("accounts")
    .set({ invoiced_through: endOf(month) })
    .where("id", "=", account.id)
    .execute();
}
