import { createHash } from "node:crypto";
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

export type ObjectsSettings = {
  url: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  /** How long an address that was given out can be used. */
  putSeconds: number;
  getSeconds: number;
};
export type StoredObject = { key: string; at: Date };

/** The most that one listing returns and one deletion takes. */
const PAGE = 1000;

/**
 * One bucket of any S3. It relies on nothing that only some of them have: no versions, no lifecycle rules, no
 * If-None-Match.
 */
export function createObjects(settings: ObjectsSettings) {
  const { bucket: Bucket, putSeconds, getSeconds } = settings;
  const client = new S3Client({
    endpoint: settings.url,
    region: settings.region,
    credentials: { accessKeyId: settings.accessKey, secretAccessKey: settings.secretKey },
    forcePathStyle: true,
    // Otherwise an address to PUT to demands a checksum that belongs to no content yet.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: 3000, requestTimeout: 30_000, throwOnRequestTimeout: true },
  });
  addContentMd5(client);

  const list = async function* (prefix: string): AsyncGenerator<StoredObject[]> {
    let after: string | undefined;
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket, Prefix: prefix, MaxKeys: PAGE, ContinuationToken: after }),
      );
      yield (page.Contents ?? []).map(({ Key = "", LastModified = new Date(0) }) => ({ key: Key, at: LastModified }));
      after = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (after !== undefined);
  };

  /** One that is not there counts as deleted. */
  const deleteMany = async (keys: readonly string[]): Promise<void> => {
    for (let from = 0; from < keys.length; from += PAGE) {
      const Objects = keys.slice(from, from + PAGE).map((Key) => ({ Key }));
      const { Errors: [fault] = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
      );
      if (fault !== undefined) throw new Error(`The object store did not delete ${fault.Key}: ${fault.Message}`);
    }
  };

  return {
    getSeconds,
    putSeconds,
    presignPut: (key: string): Promise<string> =>
      getSignedUrl(client, new PutObjectCommand({ Bucket, Key: key }), { expiresIn: putSeconds }),
    presignGet: (key: string): Promise<string> =>
      getSignedUrl(client, new GetObjectCommand({ Bucket, Key: key }), { expiresIn: getSeconds }),

    async put(key: string, body: Uint8Array | string): Promise<void> {
      await client.send(new PutObjectCommand({ Bucket, Key: key, Body: body }));
    },

    /** For small ones: the whole of it is in memory. */
    async get(key: string): Promise<Buffer | undefined> {
      const found = await client.send(new GetObjectCommand({ Bucket, Key: key })).catch(absent);
      return found?.Body === undefined ? undefined : Buffer.from(await found.Body.transformToByteArray());
    },

    async head(key: string): Promise<{ bytes: number } | undefined> {
      const found = await client.send(new HeadObjectCommand({ Bucket, Key: key })).catch(absent);
      return found === undefined ? undefined : { bytes: found.ContentLength ?? 0 };
    },

    list,
    deleteMany,

    async deleteAll(prefix: string): Promise<void> {
      for await (const page of list(prefix)) await deleteMany(page.map(({ key }) => key));
    },

    close: (): void => client.destroy(),
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
    // A restore reads to its end what it was given at its beginning.
    getSeconds: config.MOORAGE_RESTORE_DEADLINE_SECONDS,
  });

function absent(error: Error & { $metadata?: { httpStatusCode?: number } }): undefined {
  if (error.$metadata?.httpStatusCode === 404) return undefined;
  throw error;
}

/** A deletion of many must carry a checksum. Stores that are older than the SDK's CRC32 take this one alone. */
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
