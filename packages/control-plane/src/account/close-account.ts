import { closeBilling } from "#billing/index.ts";
import { endMetering } from "#databases/index.ts";
import type { ChargeRow } from "#payments/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { lockAccount, saveAccountColumns } from "./account-store.ts";
import { targetOf } from "./entity.ts";

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
