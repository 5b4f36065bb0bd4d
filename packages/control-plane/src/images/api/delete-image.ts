import { emit, endEvent } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { addSignal } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { entityOfImage, targetOfImage } from "../model/entity.ts";
import { type ImageRow, lockImage, lockImagesOf, markImageDeleted, waitsForData } from "../model/image-store.ts";
import type { ImageDeps } from "../model/stores.ts";
import { texts } from "../model/texts.ts";

/** The steps at which the process can die. */
export const endImagesSteps = ["worker.endClosedImages"] as const;

/** Hides the image from the tenant with this transaction, in any state; its objects are removed later. */
export const deleteImage = ({ db, clock }: Pick<ImageDeps, "db" | "clock">, by: Principal, id: number): Promise<void> =>
  transact(db, "api.deleteImage", async (tx) => removeImage(tx, await lockImage(tx, by.accountId, id), clock(), by));

/**
 * Part of deleting a closed account's data: removes its images, automatic ones too, once the retention has ended.
 * Repeatable.
 */
export const createEndImages =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  (accountId: number): Promise<void> =>
    transact(db, endImagesSteps[0], async (tx) => {
      const at = clock();
      const images = await lockImagesOf(tx, accountId);
      // After the images, in the usual lock order; the account cannot be reopened before this commits.
      const isOver = await tx
        .selectFrom("accounts")
        .select("id")
        .where("id", "=", accountId)
        .where("closed_at", "is not", null)
        .where("data_until", "<=", at)
        .forNoKeyUpdate()
        .executeTakeFirst();
      if (isOver === undefined) return;
      for (const image of images) await removeImage(tx, image, at);
    });

/**
 * The caller has locked the row. Work on the image is not ended here: it finds the image deleted, and ends its event.
 * An upload without an operation yet has nothing else to end its event. Without a user: the image has expired.
 */
export async function removeImage(
  tx: Tx,
  image: ImageRow,
  at: Date,
  by?: Pick<Principal, "username" | "clientId">,
): Promise<void> {
  const { id, account_id: accountId } = image;
  if (accountId === null) throw new Error(`Image ${id} has no account.`);
  await markImageDeleted(tx, image, at);
  if (image.operation_id !== null) await addSignal(tx, image.operation_id);
  if (waitsForData(image) && image.event_id !== null)
    await endEvent(tx, {
      eventId: image.event_id,
      status: "failed",
      at,
      message: texts.deletedBeforeUpload(),
    });
  await audit(tx, {
    at,
    account: accountId,
    actor: by?.username ?? "worker",
    action: "delete_image",
    target: targetOfImage(id),
    detail: by === undefined || by.clientId === null ? {} : { client: by.clientId },
  });
  await emit(tx, {
    accountId,
    username: by?.username ?? null,
    action: "image_delete",
    status: "notification",
    entity: entityOfImage(image),
    at,
    requested: by !== undefined,
  });
}
