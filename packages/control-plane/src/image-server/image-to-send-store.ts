import type { Db, Tx } from "#platform/db/database.ts";

/** What the server needs of an image that can be deployed. */
export type ImageToSend = {
  id: number;
  rawBytes: number;
  rawSha256: Buffer;
  content: string;
  manifestSha256: Buffer;
};

/** Undefined: the image does not exist, is not available yet, or was deleted. */
export async function findImageToSend(db: Db | Tx, id: number): Promise<ImageToSend | undefined> {
  const row = await available(db).where("id", "=", id).executeTakeFirst();
  return row === undefined ? undefined : toSend(row);
}

/** A public image, by its name. */
export async function findPublicImageToSend(db: Db | Tx, name: string): Promise<ImageToSend | undefined> {
  const row = await available(db).where("name", "=", name).executeTakeFirst();
  return row === undefined ? undefined : toSend(row);
}

const available = (db: Db | Tx) =>
  db
    .selectFrom("images")
    .select(["id", "raw_bytes", "raw_sha256", "content", "manifest_sha256"])
    .where("status", "=", "available")
    .where("deleted_at", "is", null);

type Row = {
  id: number;
  raw_bytes: number | null;
  raw_sha256: Buffer | null;
  content: string | null;
  manifest_sha256: Buffer | null;
};

function toSend({ id, raw_bytes, raw_sha256, content, manifest_sha256 }: Row): ImageToSend {
  if (raw_bytes === null || raw_sha256 === null || content === null || manifest_sha256 === null)
    throw new Error(`Image ${id} is available without all that is known of such.`);
  return { id, rawBytes: raw_bytes, rawSha256: raw_sha256, content, manifestSha256: manifest_sha256 };
}

/** The names of the stores that have a complete copy. */
export const storesWith = async (db: Db, imageId: number): Promise<string[]> =>
  (
    await db
      .selectFrom("image_copies")
      .select("store")
      .where("image_id", "=", imageId)
      .where("status", "=", "available")
      .execute()
  ).map(({ store }) => store);
