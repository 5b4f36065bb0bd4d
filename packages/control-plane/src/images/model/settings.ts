import type { SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import { objectStoreSettings, optional, Positive, PositiveInteger } from "#platform/settings.ts";

/** Where images are. Without a file of stores the object store of archives has them. */
export const imageStoreSettings = {
  MOORAGE_S3_URL: optional(objectStoreSettings.MOORAGE_S3_URL),
  MOORAGE_S3_REGION: objectStoreSettings.MOORAGE_S3_REGION,
  MOORAGE_S3_ACCESS_KEY: optional(objectStoreSettings.MOORAGE_S3_ACCESS_KEY),
  MOORAGE_S3_SECRET_KEY: optional(objectStoreSettings.MOORAGE_S3_SECRET_KEY),
  MOORAGE_IMAGE_BUCKET: z
    .string()
    .min(3)
    .default("moorage-images")
    .describe("The bucket of images in the object store, if one store serves all regions. Create it first."),
  MOORAGE_IMAGE_STORES_FILE: z
    .string()
    .optional()
    .describe("A JSON file of image stores by name, if regions have their own, with their credentials.")
    .meta({ reads: "file", insteadOf: ["MOORAGE_S3_URL", "MOORAGE_S3_ACCESS_KEY", "MOORAGE_S3_SECRET_KEY"] }),
  MOORAGE_IMAGE_UPLOAD_HOURS: Positive.default(24).describe(
    "How long an address for an upload is valid, in hours; an image without data is then removed.",
  ),
};

export const imageLimitSettings = {
  MOORAGE_IMAGE_UPLOAD_HOURS: imageStoreSettings.MOORAGE_IMAGE_UPLOAD_HOURS,
  MOORAGE_IMAGES_PER_ACCOUNT: z.coerce
    .number()
    .int()
    .nonnegative()
    .default(25)
    .describe("How many images an account may have, unless the operator set another limit for it."),
  MOORAGE_IMAGE_TOTAL_MB: PositiveInteger.default(150 * 1024).describe(
    "How large the images of an account may be together, in MB, unless the operator set another limit for it.",
  ),
  MOORAGE_IMAGE_RAW_MB: PositiveInteger.default(6144).describe("The largest disk of an image, uncompressed, in MB."),
  MOORAGE_IMAGE_CONTENT_MB: PositiveInteger.default(6144)
    .describe("The largest non-zero content of the disk of an image, in MB.")
    .meta({ atMost: "MOORAGE_IMAGE_RAW_MB" }),
  MOORAGE_IMAGE_UPLOAD_BYTES: PositiveInteger.default(5_000_000_000).describe(
    "The largest uploaded file, compressed, in bytes.",
  ),
  MOORAGE_IMPORT_DEADLINE_SECONDS: Positive.default(2 * 3600).describe(
    "How long an import may take, in seconds; then it fails.",
  ),
  MOORAGE_CAPTURE_DEADLINE_SECONDS: Positive.default(6 * 3600).describe(
    "How long a capture may take, in seconds; then it fails.",
  ),
  MOORAGE_AUTOMATIC_IMAGE_DAYS: Positive.default(7).describe(
    "How long the images of a removed compute instance are kept, in days; they count towards no limit.",
  ),
};

export const imageSettings = { ...imageStoreSettings, ...imageLimitSettings };

/** What may become an image, and the retention of everything related. */
export type ImageSettings = {
  imagesPerAccount: number;
  totalMb: number;
  rawMb: number;
  contentMb: number;
  uploadBytes: number;
  uploadHours: number;
  importDeadlineSeconds: number;
  captureDeadlineSeconds: number;
  automaticDays: number;
};

export const imageSettingsOf = (config: SettingsOf<typeof imageLimitSettings>): ImageSettings => ({
  imagesPerAccount: config.MOORAGE_IMAGES_PER_ACCOUNT,
  totalMb: config.MOORAGE_IMAGE_TOTAL_MB,
  rawMb: config.MOORAGE_IMAGE_RAW_MB,
  contentMb: config.MOORAGE_IMAGE_CONTENT_MB,
  uploadBytes: config.MOORAGE_IMAGE_UPLOAD_BYTES,
  uploadHours: config.MOORAGE_IMAGE_UPLOAD_HOURS,
  importDeadlineSeconds: config.MOORAGE_IMPORT_DEADLINE_SECONDS,
  captureDeadlineSeconds: config.MOORAGE_CAPTURE_DEADLINE_SECONDS,
  automaticDays: config.MOORAGE_AUTOMATIC_IMAGE_DAYS,
});
