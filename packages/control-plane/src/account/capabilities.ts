import { MANAGED_DATABASES, mayHaveDatabases } from "#databases/index.ts";
import type { AccountRow } from "./account-store.ts";

const MACHINE_IMAGES = "Machine Images";

/** What the forms of clients offer. Images are for every account. */
export const capabilitiesOf = (account: AccountRow, existingCustomersOnly: boolean): string[] => [
  ...new Set([
    ...(mayHaveDatabases(account, existingCustomersOnly) ? [MANAGED_DATABASES] : []),
    MACHINE_IMAGES,
    ...account.capabilities,
  ]),
];
