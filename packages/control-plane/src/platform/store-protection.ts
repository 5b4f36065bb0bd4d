import { GetBucketVersioningCommand, GetObjectLockConfigurationCommand, type S3Client } from "@aws-sdk/client-s3";
import type { Refusal } from "./s3-client.ts";

/** How a bucket keeps what somebody deletes or overwrites. */
export type Protection = {
  /** Earlier versions exist, and a deletion without a version only hides. */
  versions: boolean;
  /** Nobody can delete a version before the end of its retention. */
  objectLock: boolean;
};

const REMEMBERED_MS = 600_000;

/** Asks the store, and remembers the answer for ten minutes: an operator may change the bucket. */
export function createProtection(client: S3Client, Bucket: string): () => Promise<Protection> {
  let known: { until: number; protection: Promise<Protection> } | undefined;
  const read = async (): Promise<Protection> => {
    const [versioning, lock] = await Promise.all([
      client.send(new GetBucketVersioningCommand({ Bucket })).catch(without),
      client.send(new GetObjectLockConfigurationCommand({ Bucket })).catch(without),
    ]);
    return {
      versions: versioning?.Status !== undefined,
      objectLock: lock?.ObjectLockConfiguration?.ObjectLockEnabled === "Enabled",
    };
  };
  return () => {
    if (known !== undefined && known.until > performance.now()) return known.protection;
    const asked = { until: performance.now() + REMEMBERED_MS, protection: read() };
    known = asked;
    asked.protection.catch(() => {
      if (known === asked) known = undefined;
    });
    return asked.protection;
  };
}

/** What stores answer that lack the feature, or a bucket without it; 403 also a key that may not ask. */
const WITHOUT = [400, 403, 404, 405, 501];

function without(error: Refusal): undefined {
  if (WITHOUT.includes(error.$metadata?.httpStatusCode ?? 0)) return undefined;
  throw error;
}
