export { createCaptureCalls } from "./capture/capture-calls.ts";
export { type KeptDisks, keepDisks } from "./capture/keep-disks.ts";
export { createEndImages } from "./api/delete-image.ts";
export { readWireId, wireIdOf } from "./model/entity.ts";
export { hasImage, type ImageRow, listEveryImage, lockAnyImage } from "./model/image-store.ts";
export { contentKey } from "./model/object-names.ts";
export { imageLimitsOf, saveImageLimits } from "./model/limits.ts";
export { deprecateImage, publishImage, retireImage } from "./api/public-images.ts";
export { imageApiSteps, type ImageRouteDeps, imageRoutes } from "./api/routes.ts";
export { imageLimitSettings, type ImageSettings, imageSettingsOf } from "./model/settings.ts";
export {
  createImageStores,
  createPurgingImageStores,
  type ImageStore,
  type ImageStores,
  imageStoresOf,
  type PurgingImageStores,
  purgingImageStoresOf,
} from "./model/stores.ts";
export { hintRoute } from "./import/hint-route.ts";
export { checkUploads, startUploadWatcher } from "./import/upload-watcher.ts";
export { requireImporter, runImporter } from "./importer/index.ts";
export { copyNext } from "./storage/copy-images.ts";
export { imagesWorker } from "./worker.ts";
