import type { Selectable } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type ClientRow = Selectable<Tables["oauth_clients"]>;

/** Clients that are deleted, disabled, suspended or of a closed account are not found. */
export const findClient = (db: Db, id: string): Promise<ClientRow | undefined> =>
  db
    .selectFrom("oauth_clients")
    .innerJoin("accounts", "accounts.id", "oauth_clients.account_id")
    .selectAll("oauth_clients")
    .where("oauth_clients.id", "=", id)
    .where("oauth_clients.status", "=", "active")
    .where("oauth_clients.deleted_at", "is", null)
    .where("accounts.closed_at", "is", null)
    .executeTakeFirst();

export async function hasThumbnail(db: Db, id: string): Promise<boolean> {
  const found = await db
    .selectFrom("oauth_client_thumbnails")
    .select("client_id")
    .where("client_id", "=", id)
    .executeTakeFirst();
  return found !== undefined;
}
