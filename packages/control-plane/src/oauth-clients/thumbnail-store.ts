import type { Db, Tx } from "#platform/db/database.ts";

/** By the client's id alone: thumbnails are public. Undefined: the client has none, or does not exist. */
export async function findThumbnail(db: Db, clientId: string): Promise<Buffer<ArrayBuffer> | undefined> {
  const row = await db
    .selectFrom("oauth_client_thumbnails")
    .innerJoin("oauth_clients", "oauth_clients.id", "oauth_client_thumbnails.client_id")
    .select("png")
    .where("client_id", "=", clientId)
    .where("oauth_clients.deleted_at", "is", null)
    .executeTakeFirst();
  return row?.png;
}

export const saveThumbnail = (tx: Tx, clientId: string, png: Buffer, at: Date): Promise<unknown> =>
  tx
    .insertInto("oauth_client_thumbnails")
    .values({ client_id: clientId, png, updated_at: at })
    .onConflict((conflict) => conflict.column("client_id").doUpdateSet({ png, updated_at: at }))
    .execute();

export const deleteThumbnail = (tx: Tx, clientId: string): Promise<unknown> =>
  tx.deleteFrom("oauth_client_thumbnails").where("client_id", "=", clientId).execute();
