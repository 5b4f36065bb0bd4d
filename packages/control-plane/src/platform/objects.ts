import { Readable } from "node:stream";
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { SettingsOf } from "@moorage/contract/settings";
import { readToEnd } from "./read-to-end.ts";
import {
  type AddressSettings,
  type BucketSettings,
  createS3Client,
  listObjects,
  type Refusal,
  type StoredObject,
} from "./s3-client.ts";
import type { archiveStoreSettings } from "./settings.ts";
import { sha256 } from "./sha256.ts";
import { createProtection } from "./store-protection.ts";

export type ObjectsSettings = BucketSettings &
  AddressSettings & {
    /** Where holders of presigned addresses reach the store, if that is another address. */
    publicUrl?: string;
  };
/** Nobody can delete what is stored before `until`: in governance mode, nobody without a right of its own. */
export type Lock = { mode: "GOVERNANCE" | "COMPLIANCE"; until: Date };
type LockHeaders = Record<"x-amz-object-lock-mode" | "x-amz-object-lock-retain-until-date", string>;
/** Identifies the content of a key: its ETag, in the store's own form. */
export type Head = { bytes: number; etag: string };

/** Read ahead of the consumer of a stream. */
const AHEAD_BYTES = 1024 * 1024;

/**
 * One bucket of any S3, without the right to delete: that is a `PurgingStore`. It relies on nothing that only some
 * stores have: no versions, no lifecycle rules, no If-None-Match.
 */
export function createObjects(settings: ObjectsSettings) {
  const { bucket: Bucket, putSeconds, getSeconds } = settings;
  const client = createS3Client(settings);
  const signer = settings.publicUrl === undefined ? client : createS3Client(settings, settings.publicUrl);

  /** Reads from an offset to the end. Undefined: the object is gone or was replaced. */
  const openFrom = async (key: string, etag: string, from: number, signal?: AbortSignal) => {
    const range = from === 0 ? {} : { Range: `bytes=${from}-` };
    const found = await client
      .send(new GetObjectCommand({ Bucket, Key: key, IfMatch: etag, ...range }), abortedBy(signal))
      .catch(replaced);
    const body = found?.Body;
    if (body !== undefined && !(body instanceof Readable))
      throw new Error("The object store answered without a stream.");
    return body;
  };

  return {
    getSeconds,
    putSeconds,
    /** Only the host header is signed: the holder of the address may send any other header. */
    presignPut: (key: string, seconds = putSeconds): Promise<string> =>
      getSignedUrl(signer, new PutObjectCommand({ Bucket, Key: key }), { expiresIn: seconds }),
    /** For a bucket with Object Lock. The holder of the address must send these headers, which are signed. */
    async presignLockedPut(key: string, { mode, until }: Lock): Promise<{ url: string; headers: LockHeaders }> {
      const ObjectLockRetainUntilDate = new Date(Math.ceil(until.getTime() / 1000) * 1000);
      const put = new PutObjectCommand({ Bucket, Key: key, ObjectLockMode: mode, ObjectLockRetainUntilDate });
      const headers: LockHeaders = {
        "x-amz-object-lock-mode": mode,
        "x-amz-object-lock-retain-until-date": ObjectLockRetainUntilDate.toISOString().replace(".000Z", "Z"),
      };
      const unhoistableHeaders = new Set(Object.keys(headers));
      return { url: await getSignedUrl(signer, put, { expiresIn: putSeconds, unhoistableHeaders }), headers };
    },
    presignGet: (key: string): Promise<string> =>
      getSignedUrl(signer, new GetObjectCommand({ Bucket, Key: key }), { expiresIn: getSeconds }),

    async put(key: string, body: Uint8Array | string): Promise<void> {
      await client.send(new PutObjectCommand({ Bucket, Key: key, Body: body }));
    },

    /** The store refuses it if a byte was lost or changed in transit. */
    async putWhole(
      key: string,
      body: Uint8Array,
      options: { digest?: Buffer; signal?: AbortSignal } = {},
    ): Promise<void> {
      const { digest = sha256(body), signal } = options;
      const put = new PutObjectCommand({ Bucket, Key: key, Body: body, ChecksumSHA256: digest.toString("base64") });
      await client.send(put, abortedBy(signal));
    },

    /**
     * For small objects: all of it is in memory. `compared` checks the content against the checksum that it was stored
     * with, if the store keeps checksums: for callers that do not know the content.
     */
    async get(key: string, { compared = false } = {}): Promise<Buffer | undefined> {
      const mode = compared ? { ChecksumMode: "ENABLED" as const } : {};
      const found = await client.send(new GetObjectCommand({ Bucket, Key: key, ...mode })).catch(absent);
      return found?.Body === undefined ? undefined : Buffer.from(await found.Body.transformToByteArray());
    },

    async head(key: string): Promise<Head | undefined> {
      const found = await client.send(new HeadObjectCommand({ Bucket, Key: key })).catch(absent);
      return found === undefined ? undefined : { bytes: found.ContentLength ?? 0, etag: found.ETag ?? "" };
    },

    /** For large objects: a stream of exactly the content that was seen. Undefined: the content has changed. */
    async open(key: string, { etag, bytes }: Head, signal?: AbortSignal): Promise<Readable | undefined> {
      const openAt = (from: number) => openFrom(key, etag, from, signal);
      const first = await openAt(0);
      if (first === undefined) return undefined;
      return Readable.from(readToEnd({ bytes, first, openAt, signal }), {
        objectMode: false,
        highWaterMark: AHEAD_BYTES,
      });
    },

    protection: createProtection(client, Bucket),

    list: (prefix: string): AsyncGenerator<StoredObject[]> => listObjects(client, Bucket, prefix),

    close: (): void => {
      client.destroy();
      signer.destroy();
    },
  };
}
export type Objects = ReturnType<typeof createObjects>;

type Deadline = { MOORAGE_RESTORE_DEADLINE_SECONDS: number };

/** Of archives: how long the gateway's addresses are valid. A restore uses those that it got at its start until its end. */
export const archiveAddresses = ({ MOORAGE_RESTORE_DEADLINE_SECONDS }: Deadline): AddressSettings => ({
  putSeconds: 3600,
  getSeconds: MOORAGE_RESTORE_DEADLINE_SECONDS,
});

export const objectsOf = (config: SettingsOf<typeof archiveStoreSettings> & Deadline): Objects =>
  createObjects({
    url: config.MOORAGE_S3_URL,
    region: config.MOORAGE_S3_REGION,
    accessKey: config.MOORAGE_S3_ACCESS_KEY,
    secretKey: config.MOORAGE_S3_SECRET_KEY,
    bucket: config.MOORAGE_S3_BUCKET,
    ...archiveAddresses(config),
  });

const abortedBy = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { abortSignal: signal });

function absent(error: Refusal): undefined {
  if (error.$metadata?.httpStatusCode === 404) return undefined;
  throw error;
}

function replaced(error: Refusal): undefined {
  if (error.$metadata?.httpStatusCode === 412) return undefined;
  return absent(error);
}
