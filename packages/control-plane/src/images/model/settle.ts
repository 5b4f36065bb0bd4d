import type { DiskManifest } from "@moorage/disk-image";
import { endEvent } from "#events/index.ts";
import { findOperation, type OperationRow, settleOperation } from "#operations/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import { targetOfImage } from "./entity.ts";
import { type ImageRow, markImageDeleted, saveImage } from "./image-store.ts";
import { imageLimitFault } from "./limits.ts";
import type { ImageSettings } from "./settings.ts";
import { MB } from "./units.ts";
import type { ImageStores } from "./stores.ts";
import { texts } from "./texts.ts";

const HOUR_MS = 3_600_000;

/**
 * The content that an import or a capture has written to the store of the image's region, and `verifyContent` has
 * verified.
 */
export type MadeContent = {
  content: string;
  manifest: DiskManifest;
  manifestSha256: Buffer;
  uploadSha256?: Buffer;
};
/** `before`: another caller was first and committed everything that belongs to it. */
export type Settled = "available" | "failed" | "before";

type SettleDeps = { images: ImageSettings; imageStores: ImageStores };

/** Changes image, copies, operation, event and audit together, once. Locks the image, then the account. */
export async function settleAvailable(
  tx: Tx,
  { images, imageStores }: SettleDeps,
  operationId: number,
  made: MadeContent,
  at: Date,
): Promise<Settled> {
  const image = await lockImageOf(tx, operationId);
  if (image.deleted_at !== null) return end(tx, image, operationId, { message: texts.deleted(), at });
  const sizeMb = Math.ceil(made.manifest.raw_bytes / MB);
  const fault = await limitFault(tx, images, image, sizeMb);
  if (fault !== undefined) return end(tx, image, operationId, { message: fault, at });

  if ((await end(tx, image, operationId, { at })) === "before") return "before";
  await saveImage(tx, image, {
    status: "available",
    size_mb: sizeMb,
    content: made.content,
    updated_at: at,
    next_check_at: null,
    raw_bytes: made.manifest.raw_bytes,
    stored_bytes: made.manifest.stored_bytes,
    raw_sha256: Buffer.from(made.manifest.raw_sha256, "hex"),
    manifest_sha256: made.manifestSha256,
    upload_sha256: made.uploadSha256 ?? null,
    remove_at: image.expiry,
  });
  const home = imageStores.of(image.region);
  await tx
    .insertInto("image_copies")
    .values(
      imageStores.all.map((store) => ({
        image_id: image.id,
        store: store.name,
        next_try_at: at,
        updated_at: at,
        status: store === home ? ("available" as const) : ("pending" as const),
      })),
    )
    .execute();
  return "available";
}

/** A failed upload stays visible for an hour, so that its owner sees the reason; a failed capture is removed. */
export const settleFailed = async (tx: Tx, operationId: number, message: Text, at: Date): Promise<Settled> => {
  const image = await lockImageOf(tx, operationId);
  return end(tx, image, operationId, { message: image.deleted_at === null ? message : texts.deleted(), at });
};

/** Deleted images too: their operation has to end all the same. */
async function lockImageOf(tx: Tx, operationId: number): Promise<ImageRow> {
  const { entity_id } = await findOperation(tx, operationId);
  return tx.selectFrom("images").selectAll().where("id", "=", entity_id).forUpdate().executeTakeFirstOrThrow();
}

/** Automatic images do not count. */
const limitFault = async (tx: Tx, images: ImageSettings, { account_id, type }: ImageRow, mb: number) =>
  account_id === null || type === "automatic"
    ? undefined
    : imageLimitFault(tx, account_id, images, { addImages: 0, addMb: mb, rawMb: mb });

/** With a message, it has failed. */
async function end(
  tx: Tx,
  image: ImageRow,
  operationId: number,
  { message, at }: { message?: Text; at: Date },
): Promise<Settled> {
  const detail = message === undefined ? {} : { message };
  const outcome = message === undefined ? "done" : "failed";
  const operation = await settleOperation(tx, operationId, { outcome, ...detail, at });
  if (operation === undefined) return "before";
  if (message !== undefined) await leaveFailed(tx, image, at);
  await writeDown(tx, operation, image, message, at);
  if (operation.event_id !== null)
    await endEvent(tx, {
      eventId: operation.event_id,
      status: message === undefined ? "finished" : "failed",
      ...detail,
      at,
    });
  return message === undefined ? "available" : "failed";
}

async function leaveFailed(tx: Tx, image: ImageRow, at: Date): Promise<void> {
  if (image.deleted_at !== null) return;
  if (image.status === "creating") return markImageDeleted(tx, image, at);
  await saveImage(tx, image, {
    failed_at: at,
    remove_at: new Date(at.getTime() + HOUR_MS),
    updated_at: at,
    next_check_at: null,
  });
}

const writeDown = (tx: Tx, { id, kind, outcome }: OperationRow, image: ImageRow, message: Text | undefined, at: Date) =>
  audit(tx, {
    at,
    account: image.account_id,
    actor: "worker",
    action: `${kind}.${outcome}`,
    target: targetOfImage(image.id),
    detail: { operation: id, ...(message !== undefined && { message: message.text, code: message.code }) },
  });
