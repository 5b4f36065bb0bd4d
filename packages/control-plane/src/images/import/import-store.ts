import type { Db } from "#platform/db/database.ts";
import type { ImageRow } from "../image-store.ts";

/** The image of an import. Undefined: the operation has ended, or the image was deleted. */
export const findImport = (db: Db, operationId: number): Promise<ImageRow | undefined> =>
  db
    .selectFrom("images")
    .innerJoin("operations", "operations.entity_id", "images.id")
    .selectAll("images")
    .where("operations.id", "=", operationId)
    .where("operations.settled_at", "is", null)
    .where("images.deleted_at", "is", null)
    .executeTakeFirst();
