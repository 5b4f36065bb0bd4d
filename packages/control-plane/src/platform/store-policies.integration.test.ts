import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { startObjectStore } from "@moorage/testkit/object-store.ts";
import { type StoreIdentity, storeIdentities } from "@moorage/testkit/store-policies.ts";
import { expect, test } from "vitest";
import { createS3Client, type Refusal } from "./s3-client.ts";

const keysOf = (identity: StoreIdentity) => ({ access: `${identity}-access`, secret: `${identity}-secret` });
const keys = Object.fromEntries(storeIdentities.map((each) => [each, keysOf(each)])) as Record<
  StoreIdentity,
  ReturnType<typeof keysOf>
>;
const places = ["accounts/1/databases/2/timelines/3/logs/a", "uploads/4", "images/4/content/chunk-000000", "other"];

/** Written as in docs/operating/object-store.md: R read, W write, D delete. */
const allowed: Record<StoreIdentity, readonly string[]> = {
  api: ["", "W", "", ""],
  fleet: ["RW", "", "W", ""],
  worker: ["", "R", "RW", ""],
  "image-server": ["", "", "R", ""],
  purge: ["D", "D", "D", ""],
};

test.each(storeIdentities)("with the documented policy, %s may do what it does, and nothing else", async (identity) => {
  const store = await startObjectStore("127.0.0.1", { keys });
  const { access, secret } = keys[identity];
  const { url, region, bucket: Bucket } = store.settings;
  const client = createS3Client({ url, region, bucket: Bucket, accessKey: access, secretKey: secret });
  const may = (call: Promise<unknown>): Promise<boolean> =>
    call.then(
      () => true,
      (error: Refusal) => {
        if (error.$metadata?.httpStatusCode !== 403) throw error;
        return false;
      },
    );
  try {
    for (const Key of places) await store.put(Key, "kept");
    const found: string[] = [];
    for (const Key of places) {
      const reads = await may(client.send(new GetObjectCommand({ Bucket, Key })));
      const writes = await may(client.send(new PutObjectCommand({ Bucket, Key, Body: "again" })));
      const deletes = await may(client.send(new DeleteObjectCommand({ Bucket, Key })));
      found.push(`${reads ? "R" : ""}${writes ? "W" : ""}${deletes ? "D" : ""}`);
    }
    expect(found).toEqual(allowed[identity]);
    expect(await may(client.send(new ListObjectsV2Command({ Bucket })))).toBe(identity !== "api");
  } finally {
    client.destroy();
    await store.close();
  }
});
