import type { ComputeRow, DiskRow } from "#inventory/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import { wireIdOf } from "../model/entity.ts";
import { nextImageId } from "../model/image-store.ts";
import type { ImageSettings } from "../model/settings.ts";
import { MB } from "../model/units.ts";
import { isReadable, labelOf, whyUnreadable } from "./capture.ts";
import { holdHost } from "./capture-store.ts";
import { openCapture } from "./open-capture.ts";
import { texts } from "./texts.ts";

const DAY_MS = 86_400_000;

export type KeptDisks = {
  images: { id: string; disk: number; label: string; expiry: Date }[];
  /** Disks that are not captured, and why. */
  not_kept: { disk: number; label: string; reason: string }[];
};

/**
 * Captures the disks of an instance that the operator removes, as images that its account keeps for some days. They
 * count towards no limit but an image's size. The caller has locked the instance and completed the rest of its
 * transaction: events come last.
 */
export async function keepDisks(
  tx: Tx,
  settings: ImageSettings,
  { compute, disks, at }: { compute: ComputeRow; disks: readonly DiskRow[]; at: Date },
): Promise<KeptDisks> {
  const kept: KeptDisks = { images: [], not_kept: [] };
  const why = whyUnreadable(await holdHost(tx, compute.host_id));
  const expiry = new Date(at.getTime() + settings.automaticDays * DAY_MS);
  for (const disk of disks) {
    const reason = whyNotKept(disk, settings) ?? why;
    if (reason !== undefined || compute.host_id === null) {
      kept.not_kept.push({ disk: disk.id, label: disk.label, reason: (reason ?? texts.diskHostUnknown()).text });
      continue;
    }
    const image = await openCapture(tx, {
      id: await nextImageId(tx),
      compute,
      disk,
      hostId: compute.host_id,
      maxBytes: settings.rawMb * MB,
      deadlineSeconds: settings.captureDeadlineSeconds,
      requestedBy: null,
      at,
      image: {
        label: labelOf(disk),
        description: texts.automaticDescription({ label: compute.label }).text,
        capabilities: [],
        created_by: "operator",
        type: "automatic",
        expiry,
      },
    });
    kept.images.push({ id: wireIdOf(image), disk: disk.id, label: image.label, expiry });
  }
  return kept;
}

function whyNotKept(disk: DiskRow, { rawMb }: ImageSettings): Text | undefined {
  if (!isReadable(disk)) return texts.filesystemNotKept({ filesystem: disk.filesystem });
  return disk.size_mb > rawMb ? texts.diskTooLargeToKeep({ mb: disk.size_mb, maxMb: rawMb }) : undefined;
}
