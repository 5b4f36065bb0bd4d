import type { SettingsOf } from "@moorage/contract/settings";
import type { Registry } from "prom-client";
import { type PurgingImageStores, purgingImageStoresOf } from "#images/index.ts";
import type { Log } from "#platform/log.ts";
import { archivePurgeOf, purgeKeyOf, type PurgingStore } from "#platform/purging-store.ts";
import { addProtectionGauge, type KeptStore } from "#platform/telemetry/protection-gauge.ts";
import type { processSettings } from "./process-settings.ts";

/** What the worker may delete from. */
export type Stores = { archivePurge: PurgingStore; imageStores: PurgingImageStores };

/** Warns of every store where one stolen key ends backups or images. */
export function composeStores(
  config: SettingsOf<typeof processSettings.worker>,
  { log, registry }: { log: Pick<Log, "warn">; registry: Registry },
): Stores {
  const archivePurge = archivePurgeOf(config);
  const imageStores = purgingImageStoresOf(config);
  const kept: KeptStore[] = [
    { name: "archive", protection: archivePurge.protection, hasOwnKey: purgeKeyOf(config) !== undefined },
    ...imageStores.all.map(({ name, purging: { protection } }) => ({
      name: `images/${name}`,
      protection,
      hasOwnKey: !imageStores.withoutOwnKey.includes(name),
    })),
  ];
  addProtectionGauge(registry, kept);
  for (const store of kept) void warnOf(log, store);
  return { archivePurge, imageStores };
}

export async function warnOf(log: Pick<Log, "warn">, { name: store, protection, hasOwnKey }: KeptStore): Promise<void> {
  if (!hasOwnKey)
    log.warn(
      { code: "object_store.shared_key", store },
      "objects are deleted with the access key that everything else uses: whoever takes it can delete them all. Set MOORAGE_S3_PURGE_ACCESS_KEY and MOORAGE_S3_PURGE_SECRET_KEY; for stores of MOORAGE_IMAGE_STORES_FILE, purge_access_key and purge_secret_key in it",
    );
  try {
    const { versions, objectLock } = await protection();
    if (!versions && !objectLock)
      log.warn(
        { code: "object_store.unprotected", store },
        "the bucket has neither Object Lock nor versions: what a stolen key deletes or overwrites is lost. See docs/operating/object-store.md",
      );
  } catch (error) {
    log.warn(
      { code: "object_store.unknown_protection", store, err: error },
      "the store did not say how it is protected",
    );
  }
}
