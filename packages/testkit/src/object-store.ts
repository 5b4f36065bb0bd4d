import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectRetentionCommand,
  paginateListObjectsV2,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
  PutObjectRetentionCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { partsDir, removeFolder } from "./folders.ts";
import { freePort } from "./free-port.ts";
import { accountsFile, bucketPolicy, type StoreIdentity, type StoreKey } from "./store-policies.ts";

const BUCKET = "moorage-test";
const REGION = "us-east-1";
/** Of the test itself: it may do everything. */
const [ACCESS, SECRET] = ["test-access", "test-secret"];
/** Of the code under test, with the rights that an operator gives it: no process may delete, only the purge may. */
const RUNNING = { access: "running-access", secret: "running-secret" };
const PURGE = { access: "purge-access", secret: "purge-secret" };
const ONE_KEY = { api: RUNNING, fleet: RUNNING, worker: RUNNING, "image-server": RUNNING, purge: PURGE };
const SHORTEST_MS = 5000;
const validFor = { expiresIn: 3600 };
/** For a server that a busy machine holds up. */
const PATIENCE_MS = 300_000;

/**
 * A real versitygw with one bucket, which can be stopped and restarted, on an address that the test's hosts can reach.
 * Objects are files in its folder.
 */
export async function startObjectStore(
  address = "127.0.0.1",
  { keys = ONE_KEY, objectLock = false }: { keys?: Record<StoreIdentity, StoreKey>; objectLock?: boolean } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "moorage-s3-"));
  const [sidecar, objects, accounts, versions] = ["sidecar", "objects", "accounts", "versions"].map((name) => {
    const each = join(folder, name);
    mkdirSync(each);
    return each;
  }) as [string, string, string, string];
  writeFileSync(join(accounts, "users.json"), accountsFile(new Set(Object.values(keys))));
  const port = await freePort(address);
  const url = `http://${address}:${port}`;
  const client = new S3Client({
    endpoint: url,
    region: REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: ACCESS, secretAccessKey: SECRET },
    requestChecksumCalculation: "WHEN_REQUIRED",
  });
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const started = spawn(
      join(partsDir, "bin/versitygw"),
      [
        "--port",
        `${address}:${port}`,
        "--quiet",
        "--iam-dir",
        accounts,
        "posix",
        "--sidecar",
        sidecar,
        ...(objectLock ? ["--versioning-dir", versions] : []),
        objects,
      ],
      { env: { ...process.env, ROOT_ACCESS_KEY: ACCESS, ROOT_SECRET_KEY: SECRET }, stdio: "ignore" },
    );
    server = started;
    const end = Date.now() + PATIENCE_MS;
    while (started.exitCode === null && Date.now() < end) {
      const answered = await fetch(url).then(
        () => true,
        () => false,
      );
      if (answered) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("versitygw does not answer.");
  };
  /** At once, as a machine fails: requests in progress get no answer. */
  const stop = async (): Promise<void> => {
    const running = server;
    if (running === undefined) return;
    server = undefined;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGKILL");
    await ended;
  };

  await start();
  await client.send(new CreateBucketCommand({ Bucket: BUCKET, ObjectLockEnabledForBucket: objectLock }));
  const Policy = bucketPolicy(BUCKET, ["moorage-archive", "moorage-images"], keys);
  await client.send(new PutBucketPolicyCommand({ Bucket: BUCKET, Policy }));
  const fileOf = (key: string): string => join(objects, BUCKET, key);
  return {
    /** As in a file of image stores. */
    settings: {
      url,
      region: REGION,
      access_key: keys.worker.access,
      secret_key: keys.worker.secret,
      purge_access_key: keys.purge.access,
      purge_secret_key: keys.purge.secret,
      bucket: BUCKET,
    },
    start,
    stop,
    presignPut: (key: string): Promise<string> =>
      getSignedUrl(client, new PutObjectCommand({ Bucket: BUCKET, Key: key }), validFor),
    presignGet: (key: string): Promise<string> =>
      getSignedUrl(client, new GetObjectCommand({ Bucket: BUCKET, Key: key }), validFor),
    put: async (key: string, body: Uint8Array | string): Promise<void> => {
      await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: body }));
    },
    putLocked: async (key: string, body: string, until: Date): Promise<void> => {
      const lock = { ObjectLockMode: "GOVERNANCE", ObjectLockRetainUntilDate: until } as const;
      await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: body, ...lock }));
    },
    delete: async (key: string): Promise<void> => {
      await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: key }));
    },
    async empty(): Promise<void> {
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket: BUCKET }))
        for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key }));
    },
    async keys(prefix = ""): Promise<string[]> {
      const found: string[] = [];
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket: BUCKET, Prefix: prefix }))
        found.push(...Contents.flatMap(({ Key }) => Key ?? []));
      return found.sort();
    },
    /** Of all keys with this prefix, with the end of their retention; oldest first. */
    async versions(prefix = "") {
      const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: BUCKET, Prefix: prefix }));
      const found = Versions.map(async ({ Key, VersionId }) => {
        const held = await client
          .send(new GetObjectRetentionCommand({ Bucket: BUCKET, Key, VersionId }))
          .catch(() => undefined);
        return { key: Key ?? "", version: VersionId ?? "", until: held?.Retention?.RetainUntilDate };
      });
      return (await Promise.all(found)).sort((a, b) => a.version.localeCompare(b.version));
    },
    /** As an operator with the right to bypass governance. Afterwards everything may be deleted. */
    async endRetention(prefix = ""): Promise<void> {
      let last = 0;
      for (const { key, version } of await this.versions(prefix)) {
        // The store refuses an end in the past.
        last = Date.now() + SHORTEST_MS;
        await client.send(
          new PutObjectRetentionCommand({
            Bucket: BUCKET,
            Key: key,
            VersionId: version,
            BypassGovernanceRetention: true,
            Retention: { Mode: "GOVERNANCE", RetainUntilDate: new Date(last) },
          }),
        );
      }
      while (Date.now() <= last) await new Promise((resolve) => setTimeout(resolve, last - Date.now() + 1));
    },
    read: (key: string): Buffer => readFileSync(fileOf(key)),
    /** Bypasses the store, like a damaged disk. */
    flipByte(key: string, at = 0): void {
      const bytes = readFileSync(fileOf(key));
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      writeFileSync(fileOf(key), bytes);
    },
    /** Extends an object to this size with zeros that take no room. */
    stretch: (key: string, bytes: number): void => truncateSync(fileOf(key), bytes),
    async close(): Promise<void> {
      client.destroy();
      await stop();
      removeFolder(folder);
    },
  };
}
export type ObjectStore = Awaited<ReturnType<typeof startObjectStore>>;
