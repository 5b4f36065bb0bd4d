import type { AccountTransfer } from "@moorage/contract";
import type { Db } from "#platform/db/database.ts";
import { listRegions } from "#regions/index.ts";

const none = { billable: 0, quota: 0, used: 0 };

/** Traffic is neither metered nor charged, in any region. */
export const viewTransfer = async (db: Db): Promise<AccountTransfer> => ({
  ...none,
  region_transfers: (await listRegions(db)).map(({ id }) => ({ id, ...none })),
});
