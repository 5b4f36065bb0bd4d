import type { Selectable } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type ClientRow = Selectable<Tables["oauth_clients"]>;

/** One that is deleted, disabled or suspended is not there. */
export const findClient = (db: Db, id: string): Promise<ClientRow | undefined> =>
  db
    .selectFrom("oauth_clients")
    .selectAll()
    .where("id", "=", id)
    .where("status", "=", "active")
    .where("deleted_at", "is", null)
    .executeTakeFirst();

export async function hasThumbnail(db: Db, id: string): Promise<boolean> {
  const found = await db
    .selectFrom("oauth_client_thumbnails")
    .select("client_id")
    .where("client_id", "=", id)
    .executeTakeFirst();
  return found !== undefined;
}
