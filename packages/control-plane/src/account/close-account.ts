import { dropAllRecords, revokeAllAppGrants } from "#auth/index.ts";
import { closeBilling, reopenBilling } from "#billing/index.ts";
import { endMetering, meterAgain } from "#databases/index.ts";
import { dropAllPasswordLinks, revokeAllTokens, saveAccountColumns } from "#identity/index.ts";
import type { ChargeRow } from "#payments/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { type AccountRow, lockAccount, targetOf } from "./account-store.ts";
import { texts } from "./texts.ts";

const DAY_MS = 86_400_000;

export type CloseSettings = {
  /** How long the account's data are kept, and the operator can reopen it. */
  closedAccountDays: number;
};
type Closing = {
  accountId: number;
  username: string | null;
  /** Usage until then is paid. */
  cutoff: Date;
  /** The tenant's reason for cancelling, for the operator. */
  comments: string;
};

/** Stored with the charge, for closing the account once it is paid. */
export type CancelInput = { cutoff: string; comments: string };

/**
 * Closes an account with one row: from this commit on its tokens are invalid, nobody can sign in, and nothing can be
 * created in it. The request or a job then stops its databases; its data are kept until the retention ends.
 */
export async function closeAccount(tx: Tx, settings: CloseSettings, closing: Closing, at: Date): Promise<void> {
  const { accountId, cutoff } = closing;
  const account = await lockAccount(tx, accountId);
  if (account === undefined || account.closed_at !== null) return;
  await endMetering(tx, accountId, cutoff);
  const invoice = await closeBilling(tx, accountId, cutoff, at);
  const dataUntil = new Date(at.getTime() + settings.closedAccountDays * DAY_MS);
  await saveAccountColumns(tx, accountId, { closed_at: at, data_until: dataUntil });
  await audit(tx, {
    at,
    account: accountId,
    actor: closing.username ?? "worker",
    action: "cancel_account",
    target: targetOf(accountId),
    detail: { cutoff, comments: closing.comments, ...(invoice !== undefined && { invoice }) },
  });
}

/** Runs in the transaction that settles the charge of a cancellation: payment and closing are atomic. */
export const createWhenCancelled =
  (settings: CloseSettings) =>
  async (tx: Tx, charge: ChargeRow, at: Date): Promise<void> => {
    const { cutoff, comments } = charge.input as CancelInput;
    const { account_id: accountId, username } = charge;
    await closeAccount(tx, settings, { accountId, username, cutoff: new Date(cutoff), comments }, at);
  };

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
  await revokeAllTokens(tx, accountId, at);
  await revokeAllAppGrants(tx, accountId, at);
  await dropAllRecords(tx, accountId);
  await dropAllPasswordLinks(tx, accountId);
}
