import { joinOperation } from "#events/index.ts";
import { linkEvent, openOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { targetOfImage } from "../model/entity.ts";
import { type ImageRow, saveImage, waitsForData } from "../model/image-store.ts";
import type { ImageSettings } from "../model/settings.ts";

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
