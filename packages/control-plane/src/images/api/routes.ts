import {
  captureImage,
  deleteImage as deleteImageOperation,
  listImages,
  updateImage as updateImageOperation,
  uploadImage,
  viewImage,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#http/index.ts";
import { type Principal } from "#identity/index.ts";
import { toPage } from "#platform/http/page.ts";
import { acceptUpload, faultsOfPart } from "./accept-upload.ts";
import { type ImageDeps } from "../model/stores.ts";
import { acceptCapture } from "../capture/accept-capture.ts";
import { deleteImage } from "./delete-image.ts";
import { imageToChange, imageToView } from "../model/find-image.ts";
import { listImagePage } from "../model/image-store.ts";
import { updateImage } from "./update-image.ts";
import { showImage, viewsOfImages } from "../model/view.ts";

export type ImageRouteDeps = RouteDeps & ImageDeps & { nudgeRelay: () => void };

/** The steps at which a request can die. */
export const imageApiSteps = ["api.uploadImage", "api.captureImage", "api.updateImage", "api.deleteImage"] as const;

export function imageRoutes(app: FastifyInstance, deps: ImageRouteDeps): void {
  const { db } = deps;
  const requireChangeable = ({ principal, params }: { principal: Principal; params: { imageId: string } }) =>
    imageToChange(db, principal, params.imageId);

  route(app, deps, listImages, async ({ principal, page, filter }) => {
    const { rows, results } = await listImagePage(db, principal, page, filter);
    return toPage(page, results, await viewsOfImages(deps, rows));
  });

  route(
    app,
    deps,
    uploadImage,
    ({ principal, body, idempotency }) => acceptUpload(deps, principal, body, idempotency),
    undefined,
    (part) => faultsOfPart(deps, part),
  );

  route(app, deps, captureImage, ({ principal, body, idempotency }) =>
    acceptCapture(deps, principal, body, idempotency),
  );

  route(app, deps, viewImage, async ({ principal, params }) =>
    showImage(deps, await imageToView(db, principal, params.imageId)),
  );

  route(
    app,
    deps,
    updateImageOperation,
    async (call) => updateImage(deps, call.principal, await requireChangeable(call), call.body),
    requireChangeable,
  );

  route(app, deps, deleteImageOperation, async (call) => {
    await deleteImage(deps, call.principal, await requireChangeable(call));
    return {};
  });
}
