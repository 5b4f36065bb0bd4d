import type { Config } from "#platform/config.ts";

/** The meaning of MB in all settings here, and on the wire. */
export const MB = 1024 ** 2;

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

export const imageSettingsOf = (config: Config): ImageSettings => ({
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
