import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createObjects } from "#platform/objects.ts";
import { freePort } from "./free-port.ts";

const BUCKET = "moorage-test";
const [ACCESS, SECRET] = ["test-access", "test-secret"];
/** For a server that a busy machine holds up. */
const PATIENCE_MS = 180_000;

/** A real versitygw with one bucket, which can be stopped and restarted. */
export async function startObjectStore() {
  const parts =
    process.env["MOORAGE_PARTS"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage-parts");
  const folder = mkdtempSync(join(tmpdir(), "moorage-s3-"));
  // This server uses a folder as a bucket.
  for (const name of ["sidecar", join("objects", BUCKET)]) mkdirSync(join(folder, name), { recursive: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const started = spawn(
      join(parts, "bin/versitygw"),
      [
        "--port",
        `127.0.0.1:${port}`,
        "--quiet",
        "posix",
        "--sidecar",
        join(folder, "sidecar"),
        join(folder, "objects"),
      ],
      { env: { ...process.env, ROOT_ACCESS_KEY: ACCESS, ROOT_SECRET_KEY: SECRET }, stdio: "ignore" },
    );
    server = started;
    const until = Date.now() + PATIENCE_MS;
    while (started.exitCode === null && Date.now() < until) {
      const answered = await fetch(url).then(
        () => true,
        () => false,
      );
      if (answered) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("versitygw does not answer.");
  };
  const stop = async (): Promise<void> => {
    const running = server;
    if (running === undefined) return;
    server = undefined;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGTERM");
    await ended;
  };

  await start();
  const objects = createObjects({
    url,
    region: "us-east-1",
    accessKey: ACCESS,
    secretKey: SECRET,
    bucket: BUCKET,
    putSeconds: 3600,
    getSeconds: 21_600,
  });
  const fileOf = (key: string): string => join(folder, "objects", BUCKET, key);
  return {
    objects,
    /** As in a file of image stores. */
    settings: { url, region: "us-east-1", access_key: ACCESS, secret_key: SECRET, bucket: BUCKET },
    start,
    stop,
    async keys(prefix = ""): Promise<string[]> {
      const found: string[] = [];
      for await (const page of objects.list(prefix)) found.push(...page.map(({ key }) => key));
      return found.sort();
    },
    /** Bypasses the store, like a damaged disk. */
    flipByte(key: string, at = 0): void {
      const bytes = readFileSync(fileOf(key));
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
      writeFileSync(fileOf(key), bytes);
    },
    /** Extends an object to this size with zeros that take no room. */
    stretch: (key: string, bytes: number): void => truncateSync(fileOf(key), bytes),
    async [Symbol.asyncDispose]() {
      objects.close();
      await stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
export type ObjectStore = Awaited<ReturnType<typeof startObjectStore>>;
