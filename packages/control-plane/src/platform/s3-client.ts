import { createHash } from "node:crypto";
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";

export type BucketSettings = {
  url: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
};
/** How long a presigned address is valid. */
export type AddressSettings = { putSeconds: number; getSeconds: number };
export type StoredObject = { key: string; at: Date; bytes: number };

/** The most keys of one listing or one deletion. */
export const PAGE = 1000;

export function createS3Client(settings: BucketSettings, endpoint = settings.url): S3Client {
  const client = new S3Client({
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
  addContentMd5(client);
  signKnownDigests(client);
  return client;
}

export async function* listObjects(client: S3Client, bucket: string, prefix: string): AsyncGenerator<StoredObject[]> {
  let after: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: PAGE, ContinuationToken: after }),
    );
    yield (page.Contents ?? []).map(({ Key = "", LastModified = new Date(0), Size = 0 }) => ({
      key: Key,
      at: LastModified,
      bytes: Size,
    }));
    after = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  } while (after !== undefined);
}

/** An answer of the store that is not a success. */
export type Refusal = Error & { $metadata?: { httpStatusCode?: number } };

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
