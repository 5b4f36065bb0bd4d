import { emit } from "#events/index.ts";
import { type ComputeRow, type DiskRow, entityOfCompute } from "#inventory/index.ts";
import { linkEvent, openOperation } from "#operations/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { entityOfImage, targetOfImage } from "../model/entity.ts";
import { type ImageRow, insertImage, saveImage } from "../model/image-store.ts";
import { insertCapture } from "./capture-store.ts";

export type NewCapture = {
  id: number;
  compute: ComputeRow;
  disk: DiskRow;
  hostId: number;
  image: Pick<ImageRow, "label" | "description" | "capabilities" | "created_by" | "type" | "expiry">;
  maxBytes: number;
  deadlineSeconds: number;
  /** Null: the operator removed the instance. */
  requestedBy: { username: string; clientId: string | null } | null;
  at: Date;
};

/**
 * Writes image, operation, capture row, audit entry and started event, in the transaction that accepts it. The caller
 * has locked the instance and its host.
 */
export async function openCapture(tx: Tx, capture: NewCapture): Promise<ImageRow> {
  const { id, compute, disk, at, requestedBy: asked } = capture;
  const accountId = compute.account_id;
  const made = await insertImage(tx, {
    ...capture.image,
    id,
    account_id: accountId,
    name: null,
    status: "creating",
    region: compute.region,
    remove_at: capture.image.expiry,
    created_at: at,
    updated_at: at,
  });
  const operation = await openOperation(tx, {
    accountId,
    kind: "captureImage",
    entityId: id,
    at,
    deadlineSeconds: capture.deadlineSeconds,
  });
  await insertCapture(tx, {
    account_id: accountId,
    image_id: id,
    operation_id: operation.id,
    created_at: at,
    host_id: capture.hostId,
    disk_id: disk.id,
    device: disk.device,
    max_bytes: capture.maxBytes,
  });
  await audit(tx, {
    at,
    account: accountId,
    actor: asked?.username ?? "operator",
    action: "capture_image",
    target: targetOfImage(id),
    detail: { disk: disk.id, ...(asked !== null && asked.clientId !== null && { client: asked.clientId }) },
  });
  const eventId = await emit(tx, {
    accountId,
    username: asked?.username ?? null,
    action: "disk_imagize",
    status: "started",
    at,
    entity: entityOfCompute(compute),
    secondaryEntity: entityOfImage(made),
    operationId: operation.id,
    requested: asked !== null,
  });
  await linkEvent(tx, operation.id, eventId);
  return saveImage(tx, made, { event_id: eventId, operation_id: operation.id });
}
