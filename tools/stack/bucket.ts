import { imageBucket, imageStores, s3Bucket, s3Keys, s3Url } from "./addresses.ts";
import { run } from "./run.ts";
import { sha256Hex } from "./keys.ts";

/** Where the past of databases is kept, and images. An operator makes theirs with their store's own tools. */
export async function ensureBuckets(): Promise<void> {
  await ensureBucket(s3Url, s3Bucket);
  for (const { url } of Object.values(imageStores)) await ensureBucket(url, imageBucket);
}

async function ensureBucket(url: string, bucket: string): Promise<void> {
  const status = await run("curl", [
    ...["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--request", "PUT"],
    ...["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", `${s3Keys.access}:${s3Keys.secret}`],
    ...["--header", `x-amz-content-sha256: ${sha256Hex("")}`, `${url}/${bucket}`],
  ]);
  // 409: it is there already.
  if (status !== "200" && status !== "409") throw new Error(`The bucket ${bucket} was refused with ${status}.`);
}
