import { readFileSync } from "node:fs";
import { z } from "zod";
import { type Config, required } from "#platform/config.ts";
import { createObjects, type Objects } from "#platform/objects.ts";

const StoreFile = z.record(
  z.string(),
  z.object({
    /** The regions whose images are stored here. A region that no store names uses the first one. */
    regions: z.array(z.string()),
    url: z.url(),
    /** The address for tenants, if it differs. */
    public_url: z.url().optional(),
    region: z.string().default("us-east-1"),
    access_key: z.string(),
    secret_key: z.string(),
    bucket: z.string(),
  }),
);
export type StoreSettings = z.output<typeof StoreFile>;

export type ImageStore = Objects & { name: string; regions: readonly string[] };
/** At least one; an image is written to the store of its region first, and copied to the others. */
export type ImageStores = { all: readonly ImageStore[]; of: (region: string) => ImageStore; close: () => void };

export function createImageStores(settings: StoreSettings, uploadHours: number): ImageStores {
  const all = Object.entries(settings).map(
    ([name, { regions, url, public_url, region, access_key, secret_key, bucket }]) => ({
      ...createObjects({
        url,
        region,
        bucket,
        accessKey: access_key,
        secretKey: secret_key,
        ...(public_url !== undefined && { publicUrl: public_url }),
        putSeconds: uploadHours * 3600,
        getSeconds: 3600,
      }),
      name,
      regions,
    }),
  );
  const [first] = all;
  if (first === undefined) throw new Error("There must be at least one image store.");
  return {
    all,
    of: (region) => all.find(({ regions }) => regions.includes(region)) ?? first,
    close: () => {
      for (const store of all) store.close();
    },
  };
}

type StoreConfig = Pick<
  Config,
  | ("MOORAGE_S3_URL" | "MOORAGE_S3_REGION" | "MOORAGE_S3_ACCESS_KEY" | "MOORAGE_S3_SECRET_KEY")
  | ("MOORAGE_IMAGE_BUCKET" | "MOORAGE_IMAGE_STORES_FILE" | "MOORAGE_IMAGE_UPLOAD_HOURS")
>;

export const imageStoresOf = (config: StoreConfig): ImageStores =>
  createImageStores(
    config.MOORAGE_IMAGE_STORES_FILE === undefined
      ? {
          default: {
            regions: [],
            url: required(config, "MOORAGE_S3_URL"),
            region: config.MOORAGE_S3_REGION,
            access_key: required(config, "MOORAGE_S3_ACCESS_KEY"),
            secret_key: required(config, "MOORAGE_S3_SECRET_KEY"),
            bucket: config.MOORAGE_IMAGE_BUCKET,
          },
        }
      : StoreFile.parse(JSON.parse(readFileSync(config.MOORAGE_IMAGE_STORES_FILE, "utf8"))),
    config.MOORAGE_IMAGE_UPLOAD_HOURS,
  );
