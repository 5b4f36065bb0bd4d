import { readFileSync } from "node:fs";
import type { SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import type { Clock } from "#platform/clock.ts";
import { required } from "#platform/config.ts";
import type { Db } from "#platform/db/database.ts";
import { createObjects, type Objects } from "#platform/objects.ts";
import { createPurgingStore, purgeKeyOf, type PurgingStore } from "#platform/purging-store.ts";
import type { purgeKeySettings } from "#platform/settings.ts";
import type { ImageSettings, imageStoreSettings } from "./settings.ts";

const StoreFile = z.record(
  z.string(),
  z
    .object({
      /** The regions whose images are stored here. A region that no store names uses the first one. */
      regions: z.array(z.string()),
      url: z.url(),
      /** The address for tenants, if it differs. */
      public_url: z.url().optional(),
      region: z.string().default("us-east-1"),
      access_key: z.string(),
      secret_key: z.string(),
      /** The key that deletes, for `worker` alone. */
      purge_access_key: z.string().optional(),
      purge_secret_key: z.string().optional(),
      bucket: z.string(),
    })
    .refine((store) => (store.purge_access_key === undefined) === (store.purge_secret_key === undefined), {
      path: ["purge_secret_key"],
      error: "expected both purge_access_key and purge_secret_key, or neither",
    }),
);
export type StoreSettings = z.output<typeof StoreFile>;

type Stores<Store> = { all: readonly Store[]; of: (region: string) => Store; close: () => void };
export type ImageStore = Objects & { name: string; regions: readonly string[] };
/** At least one; an image is written to the store of its region first, and copied to the others. */
export type ImageStores = Stores<ImageStore>;
/** Only the worker's clean-up has it. */
export type PurgingImageStore = ImageStore & { purging: PurgingStore };
export type PurgingImageStores = Stores<PurgingImageStore>;

export const createImageStores = (settings: StoreSettings, uploadHours: number): ImageStores =>
  storesOf(Object.entries(settings).map(([name, each]) => storeOf(name, each, uploadHours)));

export const createPurgingImageStores = (settings: StoreSettings, uploadHours: number): PurgingImageStores =>
  storesOf(
    Object.entries(settings).map(([name, each]) => ({
      ...storeOf(name, each, uploadHours),
      purging: createPurgingStore({
        ...bucketOf(each, uploadHours),
        accessKey: each.purge_access_key ?? each.access_key,
        secretKey: each.purge_secret_key ?? each.secret_key,
      }),
    })),
  );

const bucketOf = ({ url, region, bucket, access_key, secret_key }: StoreSettings[string], uploadHours: number) => ({
  url,
  region,
  bucket,
  accessKey: access_key,
  secretKey: secret_key,
  putSeconds: uploadHours * 3600,
  getSeconds: 3600,
});

const storeOf = (name: string, settings: StoreSettings[string], uploadHours: number): ImageStore => ({
  ...createObjects({
    ...bucketOf(settings, uploadHours),
    ...(settings.public_url !== undefined && { publicUrl: settings.public_url }),
  }),
  name,
  regions: settings.regions,
});

function storesOf<Store extends ImageStore & { purging?: PurgingStore }>(all: readonly Store[]): Stores<Store> {
  const [first] = all;
  if (first === undefined) throw new Error("There must be at least one image store.");
  return {
    all,
    of: (region) => all.find(({ regions }) => regions.includes(region)) ?? first,
    close: () => {
      for (const { close, purging } of all) {
        close();
        purging?.close();
      }
    },
  };
}

type StoresConfig = SettingsOf<typeof imageStoreSettings>;

export const imageStoresOf = (config: StoresConfig): ImageStores =>
  createImageStores(settingsOf(config), config.MOORAGE_IMAGE_UPLOAD_HOURS);

type PurgingConfig = StoresConfig & SettingsOf<typeof purgeKeySettings>;

/** `withoutOwnKey`: the stores that are cleaned with the key that also reads and writes. */
export function purgingImageStoresOf(config: PurgingConfig): PurgingImageStores & { withoutOwnKey: string[] } {
  const settings = settingsOf(config, purgeKeyOf(config));
  return {
    ...createPurgingImageStores(settings, config.MOORAGE_IMAGE_UPLOAD_HOURS),
    withoutOwnKey: Object.keys(settings).filter((name) => settings[name]?.purge_access_key === undefined),
  };
}

const settingsOf = (config: StoresConfig, purge?: ReturnType<typeof purgeKeyOf>): StoreSettings =>
  config.MOORAGE_IMAGE_STORES_FILE === undefined
    ? {
        default: {
          regions: [],
          url: required(config, "MOORAGE_S3_URL"),
          region: config.MOORAGE_S3_REGION,
          access_key: required(config, "MOORAGE_S3_ACCESS_KEY"),
          secret_key: required(config, "MOORAGE_S3_SECRET_KEY"),
          ...(purge !== undefined && { purge_access_key: purge.accessKey, purge_secret_key: purge.secretKey }),
          bucket: config.MOORAGE_IMAGE_BUCKET,
        },
      }
    : StoreFile.parse(JSON.parse(readFileSync(config.MOORAGE_IMAGE_STORES_FILE, "utf8")));

/** What the operations of the tenant need. */
export type ImageDeps = { db: Db; clock: Clock; images: ImageSettings; imageStores: ImageStores };
