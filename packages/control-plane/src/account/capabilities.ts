import { MANAGED_DATABASES, mayHaveDatabases } from "#databases/index.ts";
import type { Db } from "#platform/db/database.ts";
import type { AccountRow } from "./account-store.ts";

const MACHINE_IMAGES = "Machine Images";

/** What clients offer in their forms. Every account can have images. */
export const capabilitiesOf = async (
  db: Db,
  account: AccountRow,
  existingCustomersOnly: boolean,
): Promise<string[]> => [
  ...new Set([
    ...((await mayHaveDatabases(db, account, existingCustomersOnly)) ? [MANAGED_DATABASES] : []),
    MACHINE_IMAGES,
    ...account.capabilities,
  ]),
];
