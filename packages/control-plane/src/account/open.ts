import { invalidToken } from "#identity/index.ts";
import type { AccountRow } from "./account-store.ts";

/** The account was closed while the request was running: the request's token is invalid like all others. */
export function requireOpen(account: AccountRow | undefined): AccountRow {
  if (account === undefined || account.closed_at !== null) throw invalidToken();
  return account;
}
