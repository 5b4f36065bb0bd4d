import { sealedByAuth } from "#auth/index.ts";
import { sealedByDatabases } from "#databases/index.ts";
import { sealedByFleet } from "#fleet/index.ts";
import { sealedByIdentity } from "#identity/index.ts";
import { sealedByMail } from "#mail/index.ts";
import type { SealedColumn } from "#platform/db/sealed-column.ts";
import { sealedByTransfers } from "#transfers/index.ts";

/** Every column that holds sealed values. A test compares it with the calls of `seal`. */
export const sealedColumns: readonly SealedColumn[] = [
  ...sealedByAuth,
  ...sealedByDatabases,
  ...sealedByFleet,
  ...sealedByIdentity,
  ...sealedByMail,
  ...sealedByTransfers,
];
