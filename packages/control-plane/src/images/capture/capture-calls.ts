import { type CaptureReport, type ImageUploadsRequest, PROTOCOL, type UploadsReply } from "@moorage/contract/agent";
import type { CaptureCalls } from "#fleet/index.ts";
import { addSignal, raisePercent } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import { contentKey } from "../model/object-names.ts";
import type { ImageStores } from "../model/stores.ts";
import { findDesiredCapture, listDesiredCaptures, saveReport } from "./capture-store.ts";

export type CaptureCallDeps = { db: Db; clock: Clock; imageStores: ImageStores };

/** A host requests a few addresses ahead, and again if one has expired. */
const ADDRESS_SECONDS = 3600;

/** The gateway's handlers for captures. */
export const createCaptureCalls = (deps: CaptureCallDeps): CaptureCalls => ({
  desired: (hostId) => listDesiredCaptures(deps.db, hostId),
  observed: (hostId, reports) => recordReports(deps, hostId, reports),
  uploads: (hostId, request) => presignUploads(deps, hostId, request),
});

/** The workflow decides what a report means: here it is stored, and the workflow is signalled at an end. */
async function recordReports(
  { db, clock }: CaptureCallDeps,
  hostId: number,
  reports: readonly CaptureReport[],
): Promise<boolean> {
  let hinted = false;
  for (const report of reports) {
    const operation = await transact(db, "fleet.captures", async (tx) => {
      const saved = await saveReport(tx, hostId, report, clock());
      if (saved === undefined) return undefined;
      if (report.state !== "working" && (await addSignal(tx, saved.operation_id))) hinted = true;
      return saved.operation_id;
    });
    if (operation !== undefined) await raisePercent(db, operation, report.percent);
  }
  return hinted;
}

/** Upload addresses in a folder of the capture's image, in the store of its region, while the capture is desired. */
async function presignUploads(
  { db, imageStores }: CaptureCallDeps,
  hostId: number,
  { capture, content, names }: ImageUploadsRequest,
): Promise<UploadsReply> {
  const image = await transact(db, "fleet.image-uploads", (tx) => findDesiredCapture(tx, hostId, capture));
  if (image === undefined) throw notFound();
  const { presignPut } = imageStores.of(image.region);
  const keys = names.map((name) => contentKey(image.image_id, content, name));
  const urls = await Promise.all(keys.map((key) => presignPut(key, ADDRESS_SECONDS)));
  return { protocol: PROTOCOL, urls };
}
