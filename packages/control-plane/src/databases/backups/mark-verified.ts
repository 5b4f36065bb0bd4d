import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";

/** What a host restored for a check: a backup, or a time of the database that is none. */
type Verified = { point?: { backup?: number | undefined } };

/** A restore was tried and found whole, at this time. The newest backup with such a mark does not expire. */
export async function markVerified(
  tx: Tx,
  { account_id, id }: Pick<DatabaseRow, "account_id" | "id">,
  { point }: Verified,
  at: Date,
): Promise<void> {
  await tx
    .updateTable("databases")
    .set({ verified_at: at })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  if (point?.backup === undefined) return;
  await tx
    .updateTable("backups")
    .set({ verified_at: at })
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .where("id", "=", point.backup)
    .execute();
}
