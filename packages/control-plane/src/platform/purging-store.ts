import {
  DeleteObjectsCommand,
  GetObjectRetentionCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  type ObjectIdentifier,
} from "@aws-sdk/client-s3";
import type { SettingsOf } from "@moorage/contract/settings";
import { required } from "./config.ts";
import { archiveAddresses } from "./objects.ts";
import {
  type AddressSettings,
  type BucketSettings,
  createS3Client,
  listObjects,
  PAGE,
  type StoredObject,
} from "./s3-client.ts";
import type { archivePurgeSettings } from "./settings.ts";
import { createProtection, type Protection } from "./store-protection.ts";

/** The part of a client that may delete. It has an access key of its own, and can neither read nor write objects. */
export type PurgingStore = AddressSettings & {
  list(prefix: string): AsyncGenerator<StoredObject[]>;
  protection(): Promise<Protection>;
  /** With all versions. A missing object counts as deleted. Undefined: nothing of it is left. */
  deleteMany(keys: readonly string[]): Promise<Locked | undefined>;
  deleteAll(prefix: string): Promise<Locked | undefined>;
  close(): void;
};

/** The keys that have versions under retention, and when to try again. They can be read until then. */
export type Locked = { keys: ReadonlySet<string>; until: Date };

export function createPurgingStore(settings: BucketSettings & AddressSettings): PurgingStore {
  const { bucket: Bucket, putSeconds, getSeconds } = settings;
  const client = createS3Client(settings);
  const list = (prefix: string): AsyncGenerator<StoredObject[]> => listObjects(client, Bucket, prefix);

  const protection = createProtection(client, Bucket);

  /** A store with Object Lock refuses a locked version like one that the key may not delete. */
  const lockedUntil = async ({ Key, VersionId }: ObjectIdentifier): Promise<Date | undefined> => {
    if (VersionId === undefined || !(await protection()).objectLock) return undefined;
    const asked = new GetObjectRetentionCommand({ Bucket, Key, VersionId });
    const until = (await client.send(asked).catch(() => undefined))?.Retention?.RetainUntilDate;
    // Past retention: refused for another reason, such as a legal hold, that somebody must hear of.
    return until !== undefined && until.getTime() > Date.now() ? until : undefined;
  };

  const deletePage = async (Objects: ObjectIdentifier[]): Promise<Locked | undefined> => {
    if (Objects.length === 0) return undefined;
    const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }));
    let locked: Locked | undefined;
    for (const { Key = "", VersionId, Message } of Errors) {
      const until = await lockedUntil({ Key, VersionId });
      if (until === undefined) throw new Error(`The object store did not delete ${Key}: ${Message}`);
      locked = together(locked, { keys: new Set([Key]), until });
    }
    return locked;
  };

  /** A deletion without a version would only hide the objects, and they would be stored for ever. */
  const deleteVersions = async (prefix: string, wanted?: ReadonlySet<string>): Promise<Locked | undefined> => {
    let locked: Locked | undefined;
    let after: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {};
    while (after !== undefined) {
      const page: ListObjectVersionsCommandOutput = await client.send(
        new ListObjectVersionsCommand({ Bucket, Prefix: prefix, MaxKeys: PAGE, ...after }),
      );
      const found = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].filter(
        ({ Key }) => wanted?.has(Key ?? "") ?? true,
      );
      locked = together(locked, await deletePage(found.map(({ Key, VersionId }) => ({ Key, VersionId }))));
      after =
        page.IsTruncated === true
          ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
          : undefined;
    }
    return locked;
  };

  const deleteMany: PurgingStore["deleteMany"] = async (keys) => {
    const { versions } = await protection();
    let locked: Locked | undefined;
    for (let from = 0; from < keys.length; from += PAGE) {
      const some = keys.slice(from, from + PAGE);
      locked = together(
        locked,
        versions ? await deleteVersions(startOf(some), new Set(some)) : await deletePage(some.map((Key) => ({ Key }))),
      );
    }
    return locked;
  };

  return {
    putSeconds,
    getSeconds,
    list,
    protection,
    deleteMany,
    async deleteAll(prefix) {
      if ((await protection()).versions) return deleteVersions(prefix);
      for await (const page of list(prefix)) await deleteMany(page.map(({ key }) => key));
      return undefined;
    },
    close: () => client.destroy(),
  };
}

const together = (one: Locked | undefined, other: Locked | undefined): Locked | undefined =>
  one === undefined || other === undefined
    ? (one ?? other)
    : { keys: one.keys.union(other.keys), until: one.until > other.until ? one.until : other.until };

/** The longest prefix that all keys have. */
function startOf(keys: readonly string[]): string {
  const first = keys.reduce((a, b) => (a < b ? a : b));
  const last = keys.reduce((a, b) => (a > b ? a : b));
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  return first.slice(0, length);
}

type PurgeConfig = SettingsOf<typeof archivePurgeSettings> & { MOORAGE_RESTORE_DEADLINE_SECONDS: number };

/** Of the bucket of archives. Without a key that only deletes it has the one that does everything. */
export function archivePurgeOf(config: PurgeConfig): PurgingStore {
  const own = purgeKeyOf(config);
  return createPurgingStore({
    url: config.MOORAGE_S3_URL,
    region: config.MOORAGE_S3_REGION,
    bucket: config.MOORAGE_S3_BUCKET,
    accessKey: own?.accessKey ?? required(config, "MOORAGE_S3_ACCESS_KEY"),
    secretKey: own?.secretKey ?? required(config, "MOORAGE_S3_SECRET_KEY"),
    ...archiveAddresses(config),
  });
}

type PurgeKey = { accessKey: string; secretKey: string };

/** Undefined: deletions use the key that also reads and writes. */
export function purgeKeyOf(
  config: Pick<PurgeConfig, "MOORAGE_S3_PURGE_ACCESS_KEY" | "MOORAGE_S3_PURGE_SECRET_KEY">,
): PurgeKey | undefined {
  if (config.MOORAGE_S3_PURGE_ACCESS_KEY === undefined && config.MOORAGE_S3_PURGE_SECRET_KEY === undefined)
    return undefined;
  return {
    accessKey: required(config, "MOORAGE_S3_PURGE_ACCESS_KEY"),
    secretKey: required(config, "MOORAGE_S3_PURGE_SECRET_KEY"),
  };
}
