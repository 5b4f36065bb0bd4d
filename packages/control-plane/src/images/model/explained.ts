import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { ImageRow } from "./image-store.ts";
import { imageFolder, ownerOfKey, uploadKey } from "./object-names.ts";
import type { PurgingImageStore } from "./stores.ts";

/** The columns of an image that decide which of its objects are needed. */
export type KeptImage = Pick<ImageRow, "id" | "region" | "status" | "content" | "deleted_at" | "failed_at"> & {
  /** Its import or capture has not ended: any folder of it may be a running attempt. */
  open: boolean;
};

/**
 * An upload is needed while it is awaited or read; a content folder if the image is made of it, or if it may be a
 * running attempt.
 */
export function isExplained(image: KeptImage, content: string | undefined): boolean {
  const lives = image.deleted_at === null;
  if (content === undefined) return lives && image.status === "pending_upload" && image.failed_at === null;
  return image.open || (lives && image.content === content);
}

export async function findKept(db: Db, by: { ids: readonly number[] } | { operationId: number }): Promise<KeptImage[]> {
  const { rows } = await sql<KeptImage>`
    select i.id, i.region, i.status, i.content, i.deleted_at, i.failed_at,
      (o.id is not null and o.settled_at is null) or (i.status = 'creating' and i.deleted_at is null) as open
    from images i left join operations o on o.id = i.operation_id
    where ${"ids" in by ? sql`i.id = any(${by.ids}::bigint[])` : sql`i.operation_id = ${by.operationId}`}`.execute(db);
  return rows;
}

/**
 * Removes objects of one image that are no longer needed from a store. The row was read earlier, so at worst it keeps
 * too much. Returns until when the store itself keeps some of them.
 */
export async function dropUnexplained({ purging }: PurgingImageStore, image: KeptImage): Promise<Date | undefined> {
  const refused = [isExplained(image, undefined) ? undefined : await purging.deleteMany([uploadKey(image.id)])];
  for await (const page of purging.list(imageFolder(image.id)))
    refused.push(
      await purging.deleteMany(
        page.map(({ key }) => key).filter((key) => !isExplained(image, ownerOfKey(key)?.content)),
      ),
    );
  const last = Math.max(...refused.map((each) => each?.until.getTime() ?? 0));
  return last === 0 ? undefined : new Date(last);
}
