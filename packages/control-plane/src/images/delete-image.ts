import { emit, endEvent } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { addSignal } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import type { ImageDeps } from "./accept-upload.ts";
import { entityOfImage, targetOfImage } from "./entity.ts";
import { type ImageRow, lockImage, markImageDeleted, waitsForData } from "./image-store.ts";
import { texts } from "./texts.ts";

/** Hides the image from the tenant with this transaction, in any state; its objects are removed later. */
export const deleteImage = ({ db, clock }: Pick<ImageDeps, "db" | "clock">, by: Principal, id: number): Promise<void> =>
  transact(db, "api.deleteImage", async (tx) => removeImage(tx, await lockImage(tx, by.accountId, id), clock(), by));

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
