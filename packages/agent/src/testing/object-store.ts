import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { enginesDir, until } from "./test-host.ts";

const bucket = "moorage-test";
const credentials = { accessKeyId: "test-access", secretAccessKey: "test-secret" };
const validFor = { expiresIn: 3600 };

/** A real versitygw with one bucket, on an address that the test's hosts can reach. Objects are files in its folder. */
export async function startObjectStore(address = "127.0.0.1") {
  const folder = mkdtempSync(join(tmpdir(), "moor-s3-"));
  for (const name of ["objects", "sidecar"]) mkdirSync(join(folder, name));
  const port = await freePort(address);
  const url = `http://${address}:${port}`;
  const client = new S3Client({
    endpoint: url,
    region: "us-east-1",
    forcePathStyle: true,
    credentials,
    requestChecksumCalculation: "WHEN_REQUIRED",
  });
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    server = spawn(
      join(enginesDir, "..", "bin", "versitygw"),
      [
        "--port",
        `${address}:${port}`,
        "--quiet",
        "posix",
        "--sidecar",
        join(folder, "sidecar"),
        join(folder, "objects"),
      ],
      {
        env: { ...process.env, ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
        stdio: "ignore",
      },
    );
    await until("the object store", () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
  }
  async function stop(): Promise<void> {
    const running = server;
    server = undefined;
    if (running === undefined) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGKILL");
    await ended;
  }
  await start();
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const fileOf = (key: string): string => join(folder, "objects", bucket, key);

  return {
    url,
    start,
    stop,
    presignPut: (key: string): Promise<string> =>
      getSignedUrl(client, new PutObjectCommand({ Bucket: bucket, Key: key }), validFor),
    presignGet: (key: string): Promise<string> =>
      getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: key }), validFor),
    put: async (key: string, body: Uint8Array | string): Promise<void> => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
    },
    /** Up to 1000 names. */
    async list(prefix = ""): Promise<string[]> {
      const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
      return (page.Contents ?? []).flatMap(({ Key }) => Key ?? []);
    },
    read: (key: string): Buffer => readFileSync(fileOf(key)),
    /** Behind the store's back, as a failing disk would. */
    flipByte(key: string, at = 0): void {
      const bytes = readFileSync(fileOf(key));
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      writeFileSync(fileOf(key), bytes);
    },
    delete: async (key: string): Promise<void> => {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },
    async close(): Promise<void> {
      client.destroy();
      await stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
export type ObjectStore = Awaited<ReturnType<typeof startObjectStore>>;

function freePort(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, address, () => {
      const bound = probe.address();
      probe.close(() => resolve(typeof bound === "object" && bound !== null ? bound.port : 0));
    });
  });
}
