import { invalidToken } from "#identity/index.ts";
import type { AccountRow } from "./account-store.ts";

/** Closed while the request was under way: its token is as dead as every other one. */
export function requireOpen(account: AccountRow | undefined): AccountRow {
  if (account === undefined || account.closed_at !== null) throw invalidToken();
  return account;
}
