import { closeBilling } from "#billing/index.ts";
import { endMetering } from "#databases/index.ts";
import type { ChargeRow } from "#payments/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { lockAccount, saveAccountColumns } from "./account-store.ts";
import { targetOf } from "./entity.ts";

const DAY_MS = 86_400_000;

export type CloseSettings = {
  /** So long its data are kept, and the operator can open it again. */
  closedAccountDays: number;
};
type Closing = {
  accountId: number;
  username: string | null;
  /** What was used until then is paid. */
  cutoff: Date;
  /** Why it was cancelled, for the operator. */
  comments: string;
};

/** What a charge keeps, for the end of the account that comes of it. */
export type CancelInput = { cutoff: string; comments: string };

/**
 * The end of an account, in one row: from this commit on no token of it is good, nobody signs in, and nothing can be
 * made in it. Its databases are stopped by who finds them running; its data stay until their time is over.
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
    ...{ at, account: accountId, actor: closing.username ?? "worker", action: "cancel_account" },
    target: targetOf(accountId),
    detail: { cutoff, comments: closing.comments, ...(invoice !== undefined && { invoice }) },
  });
}

/** In the transaction that settles the charge of a cancellation: paid and closed are one. */
export const createWhenCancelled =
  (settings: CloseSettings) =>
  async (tx: Tx, charge: ChargeRow, at: Date): Promise<void> => {
    const { cutoff, comments } = charge.input as CancelInput;
    const { account_id: accountId, username } = charge;
    await closeAccount(tx, settings, { accountId, username, cutoff: new Date(cutoff), comments }, at);
  };
