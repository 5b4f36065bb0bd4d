import type { Tx } from "#platform/db/database.ts";

/** Locked after the database that is changed, so that nobody reopens the account meanwhile. Undefined: it is open. */
export const lockClosedAccount = (tx: Tx, id: number): Promise<{ data_until: Date | null } | undefined> =>
  tx
    .selectFrom("accounts")
    .select("data_until")
    .where("id", "=", id)
    .where("closed_at", "is not", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
