import type { WorkerPart } from "#platform/worker-part.ts";
import { endImagesSteps } from "./api/delete-image.ts";
import { createCaptureActivities, createCaptureExpiry } from "./capture/activities.ts";
import { beginSteps } from "./import/begin-import.ts";
import { hintRoute } from "./import/hint-route.ts";
import { createImportActivities, createImportExpiry } from "./import/import-activities.ts";
import { startUploadWatcher } from "./import/upload-watcher.ts";
import { clearSteps, createClearImagesJob } from "./storage/clear-deleted.ts";
import { copySteps, startCopying } from "./storage/copy-images.ts";
import { createRemoveImagesJob, removeSteps } from "./storage/remove-due.ts";
import { createSweepImagesJob, sweepSteps } from "./storage/sweep-stores.ts";

type ImagesWorkerDeps = Parameters<typeof createImportActivities>[0] &
  Parameters<typeof startUploadWatcher>[0] &
  Parameters<typeof startCopying>[0] &
  Parameters<typeof createRemoveImagesJob>[0] &
  Parameters<typeof createClearImagesJob>[0];

export function imagesWorker(deps: ImagesWorkerDeps) {
  const activities = { ...createImportActivities(deps), ...createCaptureActivities(deps) };
  return {
    activities,
    expire: { ...createImportExpiry(activities), ...createCaptureExpiry(activities) },
    jobs: {
      remote: {
        removeImages: createRemoveImagesJob(deps),
        clearImages: createClearImagesJob(deps),
        sweepImages: createSweepImagesJob(deps),
      },
    },
    start(server) {
      const uploadWatcher = startUploadWatcher(deps);
      hintRoute(server, uploadWatcher.hint);
      return [uploadWatcher, startCopying(deps)];
    },
    steps: [...beginSteps, ...removeSteps, ...clearSteps, ...sweepSteps, ...copySteps, ...endImagesSteps],
  } satisfies WorkerPart;
}
