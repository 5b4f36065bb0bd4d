import type { Image, NewImage } from "@moorage/contract";
import { mayUse, type Principal } from "#identity/index.ts";
import { type ComputeRow, type DiskRow, findDiskOf, lockCompute } from "#inventory/index.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { nextImageId } from "../model/image-store.ts";
import { admitImage, findOwnLimits, limitsOf } from "../model/limits.ts";
import { MB } from "../model/units.ts";
import type { ImageDeps } from "../model/stores.ts";
import { imagePlaces, viewOfImage } from "../model/view.ts";
import { holdHost } from "./capture-store.ts";
import { isReadable, labelOf, whyUnreadable } from "./capture.ts";
import { openCapture } from "./open-capture.ts";
import { texts } from "./texts.ts";

export type CaptureDeps = ImageDeps & { nudgeRelay: () => void };

/** Accepted here and read by the disk's host; the image becomes available when all of it is in the object store. */
export async function acceptCapture(
  { db, clock, images, imageStores, nudgeRelay }: CaptureDeps,
  by: Principal,
  { disk_id, label, description, cloud_init }: NewImage,
  idempotency: Idempotency,
): Promise<Image> {
  const places = await imagePlaces(db, imageStores);
  const accepted = await transact(db, "api.captureImage", async (tx) => {
    await idempotency.claim(tx);
    const at = clock();
    const { compute, disk } = await holdDisk(tx, by, disk_id);
    const { hostId } = await requireReadable(tx, compute, disk);
    const { rawMb } = limitsOf(await findOwnLimits(tx, by.accountId), images);
    const id = await nextImageId(tx);
    await admitImage(tx, by, id, images, { addMb: disk.size_mb, rawMb: disk.size_mb });
    const image = await openCapture(tx, {
      id,
      compute,
      disk,
      hostId,
      maxBytes: rawMb * MB,
      requestedBy: by,
      at,
      deadlineSeconds: images.captureDeadlineSeconds,
      image: {
        label: label ?? labelOf(disk),
        description: description ?? null,
        type: "manual",
        expiry: null,
        capabilities: cloud_init ? ["cloud-init"] : [],
        created_by: by.username,
      },
    });
    const view = viewOfImage(image, places);
    await idempotency.keep(tx, view);
    return { view, hostId };
  });
  nudgeRelay();
  await notify(db, "host", String(accepted.hostId));
  return accepted.view;
}

/** The disk and its instance, which is locked: nobody can remove or transfer it meanwhile. */
async function holdDisk(tx: Tx, by: Principal, id: number): Promise<{ compute: ComputeRow; disk: DiskRow }> {
  const found = await findDiskOf(tx, by.accountId, id);
  const compute = found && (await lockCompute(tx, found.compute_id));
  // Again, with the lock held.
  const disk = compute && (await findDiskOf(tx, by.accountId, id));
  if (compute === undefined || disk === undefined) throw invalid("disk_id", texts.diskUnknown());
  if (!(await mayUse(tx, by, "compute", compute.id, "read_only"))) throw invalid("disk_id", texts.diskUnknown());
  return { compute, disk };
}

async function requireReadable(tx: Tx, { host_id }: ComputeRow, disk: DiskRow): Promise<{ hostId: number }> {
  if (!isReadable(disk))
    throw invalid("disk_id", texts.filesystemUnsupported({ id: disk.id, filesystem: disk.filesystem }));
  const why = whyUnreadable(await holdHost(tx, host_id));
  if (host_id === null || why !== undefined)
    throw new DomainError("wrong-state", { field: "disk_id", reason: why ?? texts.diskHostUnknown() });
  return { hostId: host_id };
}
