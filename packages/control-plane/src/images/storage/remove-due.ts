import { endEvent } from "#events/index.ts";
import { audit } from "#platform/db/audit.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import type { EachDue } from "#platform/each-due.ts";
import { removeImage } from "../api/delete-image.ts";
import { type BeginDeps, beginImport } from "../import/begin-import.ts";
import { targetOfImage } from "../model/entity.ts";
import { type ImageRow, markImageDeleted, saveImage, waitsForData } from "../model/image-store.ts";
import { uploadKey } from "../model/object-names.ts";
import type { ImageStores } from "../model/stores.ts";
import { texts } from "../model/texts.ts";

export type RemoveDeps = BeginDeps & { imageStores: ImageStores; eachDue: EachDue };

export const removeSteps = ["worker.removeDueImage"] as const;

const BATCH = 200;

/** Ends what has expired: uploads without data, uploads that failed an hour ago, automatic images past their expiry. */
export const createRemoveImagesJob = (deps: RemoveDeps) => {
  const { db, clock } = deps;
  const each = deps.eachDue("removeImages", "image");
  return async (): Promise<void> => {
    const due = await db
      .selectFrom("images")
      .selectAll()
      .where("remove_at", "<=", clock())
      .where("deleted_at", "is", null)
      .orderBy("remove_at")
      .limit(BATCH)
      .execute();
    await each.run(
      due,
      async (image) => {
        if (!waitsForData(image) || (await cameTooLate(deps, image)))
          await transact(db, removeSteps[0], (tx) => remove(tx, deps, image.id));
      },
      { putOff: (image, until, now) => putOff(deps, image, until, now) },
    );
    // Their grants ended too.
    if (due.length > 0) await notify(db, "identity");
  };
};

/** An import that has begun meanwhile has its own time. */
const putOff = ({ db }: RemoveDeps, { id, operation_id }: ImageRow, remove_at: Date, now: Date): Promise<unknown> =>
  db
    .updateTable("images")
    .set({ remove_at })
    .where("id", "=", id)
    .where("operation_id", "is not distinct from", operation_id)
    .where("remove_at", "<=", now)
    .execute();

/** A last check: data that arrived in the last minute, or while no worker could check, are in time. */
async function cameTooLate(deps: RemoveDeps, image: ImageRow): Promise<boolean> {
  if ((await deps.imageStores.of(image.region).head(uploadKey(image.id))) === undefined) return true;
  await beginImport(deps, image.id);
  return false;
}

async function remove(tx: Tx, { clock, images }: RemoveDeps, id: number): Promise<void> {
  const image = await tx.selectFrom("images").selectAll().where("id", "=", id).forUpdate().executeTakeFirstOrThrow();
  const now = clock();
  // Another worker was first, or the data arrived.
  if (image.deleted_at !== null || image.remove_at === null || image.remove_at > now) return;
  if (image.status === "available") return removeImage(tx, image, now);
  await markImageDeleted(tx, image, now);
  await saveImage(tx, image, { next_check_at: null });
  await audit(tx, {
    at: now,
    account: image.account_id,
    actor: "worker",
    action: "remove_image",
    target: targetOfImage(id),
    detail: { failed: image.failed_at !== null },
  });
  if (waitsForData(image) && image.event_id !== null)
    await endEvent(tx, {
      eventId: image.event_id,
      status: "failed",
      at: now,
      message: texts.uploadMissing({ hours: images.uploadHours }),
    });
}
