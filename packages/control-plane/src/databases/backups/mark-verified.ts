import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";

/** What a host restored for a verification: a backup, or another time of the database. */
type Verified = { point?: { backup?: number | undefined } };

/** A host restored the backup and found it intact at this time. The newest backup with this mark does not expire. */
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
