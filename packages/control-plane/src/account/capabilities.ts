import { MANAGED_DATABASES, mayHaveDatabases } from "#databases/index.ts";
import type { AccountRow } from "./account-store.ts";

/** What the forms of clients offer. Images are not among it: nothing here runs them yet. */
export const capabilitiesOf = (account: AccountRow, existingCustomersOnly: boolean): string[] => [
  ...new Set([
    ...(mayHaveDatabases(account, existingCustomersOnly) ? [MANAGED_DATABASES] : []),
    ...account.capabilities,
  ]),
];
