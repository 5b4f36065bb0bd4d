import type { Tables } from "#platform/db/tables.ts";
import type { ImageSettings } from "./settings.ts";

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
 * A sentence for each limit that would be exceeded. Existing images above a lowered limit stay: only more is refused.
 */
export function limitFaults(limits: ImageLimits, used: ImageUsage, added: AddedImages): string[] {
  const [images, totalMb] = [used.images + added.addImages, used.totalMb + added.addMb];
  return [
    added.rawMb > limits.rawMb &&
      `An image may have ${limits.rawMb} MB uncompressed; this one has ${added.rawMb} MB. Make its disk smaller, or ask the operator for more.`,
    added.addImages > 0 &&
      images > limits.images &&
      `This account may have ${limits.images} images; this would make it ${images}. Delete one, or ask the operator for more.`,
    added.addMb > 0 &&
      totalMb > limits.totalMb &&
      `The images of this account may have ${limits.totalMb} MB in all; this would make it ${totalMb} MB. Delete one, or ask the operator for more.`,
  ].filter((fault) => fault !== false);
}
