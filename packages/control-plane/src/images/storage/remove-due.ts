import { endEvent } from "#events/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { transact } from "#platform/db/transact.ts";
import type { Log } from "#platform/log.ts";
import { removeImage } from "../delete-image.ts";
import { targetOfImage } from "../entity.ts";
import { type ImageRow, markImageDeleted, saveImage, waitsForData } from "../image-store.ts";
import { type BeginDeps, beginImport } from "../import/begin-import.ts";
import { uploadKey } from "../object-names.ts";
import type { ImageStores } from "../stores.ts";
import { texts } from "../texts.ts";

export type RemoveDeps = BeginDeps & { imageStores: ImageStores; log: Log };

export const removeSteps = ["worker.removeDueImage"] as const;

const BATCH = 200;
const PUT_OFF_MS = 60_000;

/** Ends what has expired: uploads without data, uploads that failed an hour ago, automatic images past their expiry. */
export const createRemoveImagesJob = (deps: RemoveDeps) => async (): Promise<void> => {
  const { db, clock } = deps;
  const due = await db
    .selectFrom("images")
    .selectAll()
    .where("remove_at", "<=", clock())
    .where("deleted_at", "is", null)
    .orderBy("remove_at")
    .limit(BATCH)
    .execute();
  for (const image of due)
    if (!waitsForData(image) || (await cameTooLate(deps, image)))
      await transact(db, removeSteps[0], (tx) => remove(tx, deps, image.id));
  // Their grants ended too.
  if (due.length > 0) await notify(db, "identity");
};

/** A last check: data that arrived in the last minute, or while no worker could check, are in time. */
async function cameTooLate(deps: RemoveDeps, image: ImageRow): Promise<boolean> {
  const { db, clock, log, imageStores } = deps;
  try {
    if ((await imageStores.of(image.region).head(uploadKey(image.id))) === undefined) return true;
    await beginImport(deps, image.id);
  } catch (error) {
    log.warn({ err: error, image: image.id }, "an expired upload could not be checked; this is retried");
    await db
      .updateTable("images")
      .set({ remove_at: new Date(clock().getTime() + PUT_OFF_MS) })
      .where("id", "=", image.id)
      .where("operation_id", "is", null)
      .execute();
  }
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
