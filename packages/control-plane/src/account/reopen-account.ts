import { reopenBilling } from "#billing/index.ts";
import { meterAgain } from "#databases/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { type AccountRow, lockAccount, saveAccountColumns } from "./account-store.ts";
import { texts } from "./texts.ts";

/**
 * For the operator, as long as the data are kept. People sign in as before; tokens, apps, sessions and links from
 * before the closing stay invalid. Databases stay suspended until somebody resumes them.
 */
export async function reopenAccount(tx: Tx, accountId: number, at: Date): Promise<AccountRow> {
  // Before the account, as the lock order requires.
  await tx
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .forUpdate()
    .execute();
  const account = await lockAccount(tx, accountId);
  if (account === undefined) throw new DomainError("not-found", { reason: texts.notFound({ accountId }) });
  if (account.closed_at === null) throw new DomainError("wrong-state", { reason: texts.notClosed({ accountId }) });
  if (account.data_until !== null && account.data_until <= at)
    throw new DomainError("wrong-state", { reason: texts.dataBeingDeleted({ accountId }) });
  await endOldAccess(tx, accountId, at);
  await reopenBilling(tx, account);
  const reopened = await saveAccountColumns(tx, accountId, { closed_at: null, data_until: null });
  await meterAgain(tx, accountId, at);
  return reopened;
}

async function endOldAccess(tx: Tx, accountId: number, at: Date): Promise<void> {
  for (const table of ["tokens", "app_grants"] as const)
    await tx
      .updateTable(table)
      .set({ revoked_at: at })
      .where("account_id", "=", accountId)
      .where("revoked_at", "is", null)
      .execute();
  for (const table of ["auth_records", "password_links"] as const)
    await tx.deleteFrom(table).where("account_id", "=", accountId).execute();
}
