import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { type Config, required } from "./config.ts";
import { readToEnd } from "./read-to-end.ts";
import { sha256 } from "./sha256.ts";

export type ObjectsSettings = {
  url: string;
  /** Where holders of presigned addresses reach the store, if that is another address. */
  publicUrl?: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  /** How long a presigned address is valid. */
  putSeconds: number;
  getSeconds: number;
};
export type StoredObject = { key: string; at: Date; bytes: number };
/** Identifies the content of a key: its ETag, in the store's own form. */
export type Head = { bytes: number; etag: string };

/** The most keys of one listing or one deletion. */
const PAGE = 1000;
/** Read ahead of the consumer of a stream. */
const AHEAD_BYTES = 1024 * 1024;

/**
 * One bucket of any S3. It relies on nothing that only some stores have: no versions, no lifecycle rules, no
 * If-None-Match.
 */
export function createObjects(settings: ObjectsSettings) {
  const { bucket: Bucket, putSeconds, getSeconds } = settings;
  const clientAt = (endpoint: string): S3Client =>
    new S3Client({
      endpoint,
      region: settings.region,
      credentials: { accessKeyId: settings.accessKey, secretAccessKey: settings.secretKey },
      forcePathStyle: true,
      // Otherwise a presigned PUT demands a checksum, which is not known yet.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      // It would open a separate connection for every chunk.
      expectContinueHeader: false,
      requestHandler: {
        connectionTimeout: 3000,
        requestTimeout: 30_000,
        throwOnRequestTimeout: true,
        socketTimeout: 60_000,
      },
    });
  const client = clientAt(settings.url);
  const signer = settings.publicUrl === undefined ? client : clientAt(settings.publicUrl);
  addContentMd5(client);
  signKnownDigests(client);

  const list = async function* (prefix: string): AsyncGenerator<StoredObject[]> {
    let after: string | undefined;
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket, Prefix: prefix, MaxKeys: PAGE, ContinuationToken: after }),
      );
      yield (page.Contents ?? []).map(({ Key = "", LastModified = new Date(0), Size = 0 }) => ({
        key: Key,
        at: LastModified,
        bytes: Size,
      }));
      after = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (after !== undefined);
  };

  /** A missing object counts as deleted. */
  const deleteMany = async (keys: readonly string[]): Promise<void> => {
    for (let from = 0; from < keys.length; from += PAGE) {
      const Objects = keys.slice(from, from + PAGE).map((Key) => ({ Key }));
      const { Errors: [fault] = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
      );
      if (fault !== undefined) throw new Error(`The object store did not delete ${fault.Key}: ${fault.Message}`);
    }
  };

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

    list,
    deleteMany,

    async deleteAll(prefix: string): Promise<void> {
      for await (const page of list(prefix)) await deleteMany(page.map(({ key }) => key));
    },

    close: (): void => {
      client.destroy();
      signer.destroy();
    },
  };
}
export type Objects = ReturnType<typeof createObjects>;

export const objectsOf = (config: Config): Objects =>
  createObjects({
    url: required(config, "MOORAGE_S3_URL"),
    region: config.MOORAGE_S3_REGION,
    accessKey: required(config, "MOORAGE_S3_ACCESS_KEY"),
    secretKey: required(config, "MOORAGE_S3_SECRET_KEY"),
    bucket: config.MOORAGE_S3_BUCKET,
    putSeconds: 3600,
    // A restore uses the addresses that it got at its start until its end.
    getSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
  });

const abortedBy = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { abortSignal: signal });

type Refusal = Error & { $metadata?: { httpStatusCode?: number } };

function absent(error: Refusal): undefined {
  if (error.$metadata?.httpStatusCode === 404) return undefined;
  throw error;
}

function replaced(error: Refusal): undefined {
  if (error.$metadata?.httpStatusCode === 412) return undefined;
  return absent(error);
}

/** A bulk deletion must carry a checksum. Stores older than the SDK's CRC32 accept only this one. */
function addContentMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (call) => {
        const request = call.request as { body?: unknown; headers: Record<string, string> };
        if (commandName === "DeleteObjectsCommand" && typeof request.body === "string")
          request.headers["content-md5"] = createHash("md5").update(request.body).digest("base64");
        return next(call);
      },
    { step: "build", name: "contentMd5", priority: "low" },
  );
}

/** Where the checksum of a body is known it is also signed, so that large bodies are not hashed twice. */
function signKnownDigests(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (call) => {
      const { headers } = call.request as { headers: Record<string, string> };
      const known = headers["x-amz-checksum-sha256"];
      if (known !== undefined) headers["x-amz-content-sha256"] = Buffer.from(known, "base64").toString("hex");
      return next(call);
    },
    { step: "build", name: "knownDigest", priority: "low" },
  );
}
