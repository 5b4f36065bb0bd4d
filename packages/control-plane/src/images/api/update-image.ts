import type { Image, ImageChange } from "@moorage/contract";
import { recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { transact } from "#platform/db/database.ts";
import { entityOfImage, targetOfImage } from "../model/entity.ts";
import { lockImage, saveImage } from "../model/image-store.ts";
import type { ImageDeps } from "../model/stores.ts";
import { showImage } from "../model/view.ts";

/** In any state. Clients wait for the event, so every accepted PUT has one. */
export async function updateImage(deps: ImageDeps, by: Principal, id: number, change: ImageChange): Promise<Image> {
  const { db, clock } = deps;
  const image = await transact(db, "api.updateImage", async (tx) => {
    const at = clock();
    const before = await lockImage(tx, by.accountId, id);
    const { label = before.label, description = before.description } = change;
    const after = await saveImage(tx, before, { label, description, updated_at: at });
    await recordChange(tx, by, {
      audited: "update_image",
      event: "image_update",
      detail: { fields: Object.keys(change) },
      at,
      target: targetOfImage(id),
      entity: entityOfImage(after),
    });
    return after;
  });
  return showImage(deps, image);
}
