import { type Insertable, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import type { DatabaseRow } from "../model/database-store.ts";

export type BackupRow = Selectable<Tables["backups"]>;
export type CopyRow = Selectable<Tables["copies"]>;
export type Owner = { accountId: number; databaseId: number };
/** What a host restored for a verification: a backup, or another time of the database. */
type Verified = { point?: { backup?: number | undefined } };

const columns = { type: sql.ref("backups.type"), created: sql.ref("backups.point_at") };

const backupsOf = (db: Db | Tx, { accountId, databaseId }: Owner) =>
  db.selectFrom("backups").selectAll().where("account_id", "=", accountId).where("database_id", "=", databaseId);

export const listBackupPage = (db: Db, owner: Owner, page: PageRequest, filter: Filter) =>
  listPage(backupsOf(db, owner), { page, filter, columns, lastly: { by: "backups.id" } });

export const findBackup = (db: Db | Tx, owner: Owner, id: number): Promise<BackupRow> =>
  backupsOf(db, owner).where("id", "=", id).executeTakeFirstOrThrow(notFound);

export const listBackups = (tx: Tx, owner: Owner): Promise<BackupRow[]> => backupsOf(tx, owner).orderBy("id").execute();

export const insertBackup = (tx: Tx, row: Insertable<Tables["backups"]>): Promise<unknown> =>
  tx.insertInto("backups").values(row).execute();

/** Does nothing if another worker was first. */
export const insertDailyPoint = (tx: Tx, row: Insertable<Tables["backups"]>): Promise<unknown> =>
  tx
    .insertInto("backups")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();

export const deleteBackups = (tx: Tx, owner: Owner, ids: readonly number[]): Promise<unknown> =>
  tx
    .deleteFrom("backups")
    .where("account_id", "=", owner.accountId)
    .where("database_id", "=", owner.databaseId)
    .where("id", "in", ids)
    .execute();

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

/** Undefined: no host has reported it, or it is marked for deletion. */
export const findCopy = (tx: Tx, accountId: number, id: string): Promise<CopyRow | undefined> =>
  tx
    .selectFrom("copies")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("doomed_at", "is", null)
    .executeTakeFirst();

export const doomCopies = (tx: Tx, accountId: number, ids: readonly string[], at: Date): Promise<unknown> =>
  tx
    .updateTable("copies")
    .set({ doomed_at: at })
    .where("account_id", "=", accountId)
    .where("id", "in", ids)
    .where("doomed_at", "is", null)
    .execute();

/** Only a database that has been provisioned has an archive. */
export const statusOf = async (db: Db, { accountId, databaseId }: Owner) => {
  const { status } = await db
    .selectFrom("databases")
    .select("status")
    .where("account_id", "=", accountId)
    .where("id", "=", databaseId)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow(notFound);
  return status;
};
