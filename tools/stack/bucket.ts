import { bucketPolicy } from "@moorage/testkit/store-policies.ts";
import { imageBucket, imageStores, s3Bucket, s3Keys, s3ProcessKeys, s3Url } from "./addresses.ts";
import { run } from "./run.ts";
import { sha256Hex } from "./keys.ts";

/**
 * Creates the buckets for archives and images, and gives each process the rights of docs/operating/object-store.md. An
 * operator does both with the store's own tools.
 */
export async function ensureBuckets(): Promise<void> {
  await ensureBucket(s3Url, s3Bucket);
  await put(`${s3Url}/${s3Bucket}?policy=`, bucketPolicy(s3Bucket, ["moorage-archive"], s3ProcessKeys));
  for (const { url } of Object.values(imageStores)) {
    await ensureBucket(url, imageBucket);
    await put(`${url}/${imageBucket}?policy=`, bucketPolicy(imageBucket, ["moorage-images"], s3ProcessKeys));
  }
}

/** 409: the bucket exists already. */
const ensureBucket = (url: string, bucket: string): Promise<void> => put(`${url}/${bucket}`, "", ["409"]);

async function put(address: string, body: string, alsoFine: string[] = []): Promise<void> {
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
    `x-amz-content-sha256: ${sha256Hex(body)}`,
    ...(body === "" ? [] : ["--data-binary", body]),
    address,
  ]);
  if (!["200", "204", ...alsoFine].includes(status)) throw new Error(`PUT ${address} was refused with ${status}.`);
}
