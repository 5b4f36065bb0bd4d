import type { Tables } from "#platform/db/tables.ts";
import type { Text } from "@moorage/contract/texts";
import type { ImageSettings } from "./settings.ts";
import { texts } from "./texts.ts";

type Defaults = Pick<ImageSettings, "imagesPerAccount" | "totalMb" | "rawMb">;
type Own = Partial<Pick<Tables["image_limits"], "images" | "total_mb" | "raw_mb">>;
export type ImageLimits = { images: number; totalMb: number; rawMb: number };
export type ImageUsage = { images: number; totalMb: number };

/** What is added to the account's images; `rawMb` is the size of the image, 0 while it is unknown. */
export type AddedImages = { addImages: number; addMb: number; rawMb: number };

export const limitsOf = (own: Own | undefined, defaults: Defaults): ImageLimits => ({
  images: own?.images ?? defaults.imagesPerAccount,
  totalMb: own?.total_mb ?? defaults.totalMb,
  rawMb: own?.raw_mb ?? defaults.rawMb,
});

/**
 * A text for each limit that would be exceeded. Existing images above a lowered limit stay: only more is refused.
 */
export function limitFaults(limits: ImageLimits, used: ImageUsage, added: AddedImages): Text[] {
  const [images, totalMb] = [used.images + added.addImages, used.totalMb + added.addMb];
  return [
    added.rawMb > limits.rawMb && texts.sizeLimit({ maxMb: limits.rawMb, mb: added.rawMb }),
    added.addImages > 0 && images > limits.images && texts.countLimit({ max: limits.images, count: images }),
    added.addMb > 0 && totalMb > limits.totalMb && texts.totalSizeLimit({ maxMb: limits.totalMb, mb: totalMb }),
  ].filter((fault) => fault !== false);
}
