import { joinOperation } from "#events/index.ts";
import { linkEvent, openOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { transact } from "#platform/db/transact.ts";
import { targetOfImage } from "../entity.ts";
import { type ImageRow, saveImage, waitsForData } from "../image-store.ts";
import type { ImageSettings } from "../settings.ts";

export type BeginDeps = { db: Db; clock: Clock; images: ImageSettings };

export const beginSteps = ["worker.beginImageImport"] as const;

/** The data have arrived: from now on only the operation, with its own deadline, decides the image's outcome. */
export async function beginImport({ db, clock, images }: BeginDeps, imageId: number): Promise<void> {
  const began = await transact(db, beginSteps[0], async (tx) => {
    const image = await lockUpload(tx, imageId);
    // Another worker was first, or the image was deleted.
    if (image === undefined || image.account_id === null || !waitsForData(image)) return false;
    const at = clock();
    const operation = await openOperation(tx, {
      accountId: image.account_id,
      kind: "importImage",
      entityId: imageId,
      at,
      deadlineSeconds: images.importDeadlineSeconds,
    });
    await saveImage(tx, image, { operation_id: operation.id, next_check_at: null, remove_at: null });
    await audit(tx, {
      at,
      account: image.account_id,
      actor: "worker",
      action: "begin_import",
      target: targetOfImage(imageId),
      detail: { operation: operation.id },
    });
    if (image.event_id !== null) {
      await linkEvent(tx, operation.id, image.event_id);
      await joinOperation(tx, image.event_id, operation.id);
    }
    return true;
  });
  if (began) await notify(db, "relay");
}

const lockUpload = (tx: Tx, id: number): Promise<ImageRow | undefined> =>
  tx
    .selectFrom("images")
    .selectAll()
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .forUpdate()
    .executeTakeFirst();
