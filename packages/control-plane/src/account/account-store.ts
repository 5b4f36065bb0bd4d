import type { Selectable, Updateable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type AccountRow = Selectable<Tables["accounts"]>;

export const findAccount = (db: Db | Tx, id: number): Promise<AccountRow> =>
  db.selectFrom("accounts").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

/** Locks the row, which is last in the lock order: lock a database's row before it. */
export const lockAccount = (tx: Tx, id: number): Promise<AccountRow | undefined> =>
  tx.selectFrom("accounts").selectAll().where("id", "=", id).forNoKeyUpdate().executeTakeFirst();

export const saveAccountColumns = (tx: Tx, id: number, change: Updateable<Tables["accounts"]>): Promise<AccountRow> =>
  tx.updateTable("accounts").set(change).where("id", "=", id).returningAll().executeTakeFirstOrThrow();
