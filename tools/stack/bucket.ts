import { imageBucket, imageStores, s3Bucket, s3Keys, s3Url } from "./addresses.ts";
import { run } from "./run.ts";
import { sha256Hex } from "./keys.ts";

/** Creates the buckets for archives and images. An operator creates theirs with the store's own tools. */
export async function ensureBuckets(): Promise<void> {
  await ensureBucket(s3Url, s3Bucket);
  for (const { url } of Object.values(imageStores)) await ensureBucket(url, imageBucket);
}

async function ensureBucket(url: string, bucket: string): Promise<void> {
  const status = await run("curl", [
    "--silent",
    "--output",
    "/dev/null",
    "--write-out",
    "%{http_code}",
    "--request",
    "PUT",
    "--aws-sigv4",
    "aws:amz:us-east-1:s3",
    "--user",
    `${s3Keys.access}:${s3Keys.secret}`,
    "--header",
    `x-amz-content-sha256: ${sha256Hex("")}`,
    `${url}/${bucket}`,
  ]);
  // 409: the bucket exists already.
  if (status !== "200" && status !== "409") throw new Error(`The bucket ${bucket} was refused with ${status}.`);
}
