import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import type { Log } from "#platform/log.ts";
import type { ImageRow } from "../model/image-store.ts";
import type { PurgingImageStores } from "../model/stores.ts";
import { dropUnexplained, findKept, type KeptImage } from "../model/explained.ts";

export type StorageDeps = { db: Db; clock: Clock; imageStores: PurgingImageStores; log: Log };

export const clearSteps = ["worker.clearImage"] as const;

const BATCH = 50;
const AGAIN_MS = 30_000;
/** At the least, for what a store with Object Lock keeps. */
const LOCKED_MS = 3_600_000;
/** An upload that began while its address was valid may end this much later. */
const LAST_UPLOAD_MS = 6 * 3_600_000;

/** Removes the objects of deleted images from every store. Repeatable at any point; an unreachable store is retried. */
export const createClearImagesJob = (deps: StorageDeps & { eachDue: EachDue }) => {
  const { db, clock } = deps;
  const each = deps.eachDue("clearImages", "image");
  return async (): Promise<void> =>
    each.run(
      await dueToClear(db, clock()),
      async ({ id, upload_until }) => {
        const [image] = await findKept(db, { ids: [id] });
        if (image !== undefined) await step(clearSteps[0], () => clear(deps, image, upload_until));
      },
      { putOff: ({ id }, until) => setNext(db, id, until) },
    );
};

async function clear(
  { db, clock, imageStores }: StorageDeps,
  image: KeptImage,
  uploadUntil: Date | null,
): Promise<void> {
  let locked: Date | undefined;
  for (const store of imageStores.all) locked = (await dropUnexplained(store, image)) ?? locked;
  const now = clock();
  if (locked !== undefined)
    return setNext(db, image.id, new Date(Math.max(locked.getTime(), now.getTime() + LOCKED_MS)));
  const next = nextClearing({ open: image.open, upload_until: uploadUntil }, now);
  if (next !== undefined) return setNext(db, image.id, next);
  await db.deleteFrom("image_copies").where("image_id", "=", image.id).execute();
  await db.updateTable("images").set({ cleared_at: now }).where("id", "=", image.id).execute();
}

/**
 * Undefined: no object can be written any more. While an attempt runs it is checked again; an upload address stays
 * valid until its end.
 */
export function nextClearing(image: { open: boolean; upload_until: Date | null }, now: Date): Date | undefined {
  if (image.open) return new Date(now.getTime() + AGAIN_MS);
  const last = image.upload_until === null ? 0 : image.upload_until.getTime() + LAST_UPLOAD_MS;
  return last > now.getTime() ? new Date(last) : undefined;
}

const dueToClear = (db: Db, now: Date): Promise<Pick<ImageRow, "id" | "upload_until">[]> =>
  db
    .selectFrom("images")
    .select(["id", "upload_until"])
    .where("deleted_at", "is not", null)
    .where("cleared_at", "is", null)
    .where(({ fn }) => fn.coalesce("clear_at", "deleted_at"), "<=", now)
    .orderBy(({ fn }) => fn.coalesce("clear_at", "deleted_at"))
    .limit(BATCH)
    .execute();

const setNext = async (db: Db, id: number, clear_at: Date): Promise<void> => {
  await db.updateTable("images").set({ clear_at }).where("id", "=", id).execute();
};
