import type { Tx } from "#platform/db/database.ts";
import { type Posting, postCash } from "./ledger-store.ts";
import { notifyBalance } from "./notify-balance.ts";

/** Posts a payment, once per source; returns whether it was posted now. */
export const postPayment = (tx: Tx, posting: Posting): Promise<boolean> => post(tx, "payment", posting);

/** Posts a refund: what the money had paid is owed again. */
export const postRefund = (tx: Tx, posting: Posting): Promise<boolean> => post(tx, "refund", posting);

async function post(tx: Tx, kind: "payment" | "refund", posting: Posting): Promise<boolean> {
  const posted = await postCash(tx, kind, posting);
  if (posted) await notifyBalance(tx, posting.accountId, posting.at);
  return posted;
}
