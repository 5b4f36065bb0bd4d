import { execFileSync } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImageUploadsRequest } from "@moorage/contract/agent";
import { CHUNK_BYTES, chunkName, DiskManifest, MANIFEST } from "@moorage/disk-image";
import { readDisk } from "@moorage/disk-image/testing";
import { type ObjectStore, startObjectStore } from "@moorage/testkit/object-store.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { detachLoopDevices } from "../node/mounts.ts";
import { captureDisk } from "./capture-disk.ts";
import { openDevice } from "./open-device.ts";

const mb = 1024 ** 2;
let store: ObjectStore;
let folder: string;
beforeAll(async () => {
  store = await startObjectStore();
  folder = realpathSync(mkdtempSync(join(tmpdir(), "moor-disks-")));
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const place = (name: string, bytes: Uint8Array): string => {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
};
const refusal = (path: string, maxBytes = 100 * mb, folders = [folder]): Promise<string> =>
  openDevice(path, { folders, maxBytes }).then(
    async (device) => {
      await device.close();
      return "opened";
    },
    (error: Error) => `${error.name}: ${error.message}`,
  );

type Order = { device: string; signal?: AbortSignal; folders?: string[]; onRequest?: (names: string[]) => unknown };
function capture({ device, signal = new AbortController().signal, folders = [folder], onRequest }: Order) {
  const id = randomUUID();
  const percents: number[] = [];
  const imageUploads = async ({ protocol, content, names }: ImageUploadsRequest) => {
    await onRequest?.(names);
    return { protocol, urls: await Promise.all(names.map((name) => store.presignPut(`${id}/${content}/${name}`))) };
  };
  const done = captureDisk(
    { folders, imageUploads },
    { id, device, max_bytes: 100 * mb },
    { signal, progress: (percent) => void percents.push(percent) },
  );
  return { id, done, percents };
}

async function rawOf(id: string, content: string): Promise<{ raw: Buffer; manifest: DiskManifest }> {
  const read = (name: string): Buffer => store.read(`${id}/${content}/${name}`);
  const manifest = DiskManifest.parse(JSON.parse(read(MANIFEST).toString()));
  const parts = await Array.fromAsync(readDisk(manifest, async (index) => read(chunkName(index))));
  return { raw: Buffer.concat(parts), manifest };
}

test("a file is stored as chunks without the zero ones, and the manifest lists exactly the stored chunks", async () => {
  const raw = Buffer.concat([randomBytes(CHUNK_BYTES), Buffer.alloc(2 * CHUNK_BYTES), randomBytes(CHUNK_BYTES + 512)]);
  const { id, done, percents } = capture({ device: place("sparse.img", raw) });

  const { content } = await done;

  const read = await rawOf(id, content);
  expect(read.raw.equals(raw)).toBe(true);
  expect(read.manifest.raw_sha256).toBe(createHash("sha256").update(raw).digest("hex"));
  expect(await store.keys(id)).toEqual(
    [...[0, 3, 4].map(chunkName), MANIFEST].map((name) => `${id}/${content}/${name}`),
  );
  expect(percents).toEqual([...percents].sort((a, b) => a - b));
  expect(percents.at(-1)).toBe(99);
});

test("a block device is captured by its own path and by a link to it", async () => {
  const raw = Buffer.concat([Buffer.alloc(CHUNK_BYTES), randomBytes(3 * mb)]);
  const file = place("block.img", raw);
  const loop = execFileSync("losetup", ["--find", "--show", "--read-only", file], { encoding: "utf8" }).trim();
  try {
    const link = join(folder, "by-name");
    symlinkSync(loop, link);
    for (const device of [loop, link]) {
      const { id, done } = capture({ device, folders: ["/dev"] });
      expect((await rawOf(id, (await done).content)).raw.equals(raw)).toBe(true);
    }
    expect(await refusal(loop, raw.length - 512, ["/dev"])).toMatch(/CannotCapture: The disk has 11 MB/);
    expect(await refusal(link)).toMatch(/outside/);
  } finally {
    await detachLoopDevices(file);
  }
});

test("only disks below the allowed folders are read", async () => {
  const outside = mkdtempSync(join(tmpdir(), "moor-secret-"));
  const inside = join(folder, "inside");
  mkdirSync(inside);
  writeFileSync(join(outside, "secret"), Buffer.alloc(512, 1));
  symlinkSync(join(outside, "secret"), join(inside, "link"));
  symlinkSync(outside, join(inside, "folder-link"));
  symlinkSync("loop", join(inside, "loop"));
  execFileSync("mkfifo", [join(inside, "pipe")]);
  const good = place("inside/good", Buffer.alloc(512, 1));
  linkSync(good, join(inside, "second-name"));
  try {
    const refused = {
      [join(outside, "secret")]: "outside",
      [join(inside, "link")]: "outside",
      [join(inside, "folder-link", "secret")]: "outside",
      [join(inside, "..", "..", "..", join(outside, "secret"))]: "outside",
      [join(inside, "loop")]: "outside",
      "inside/good": "outside",
      [join(inside, "pipe")]: "neither",
      [inside]: "neither",
      [folder]: "outside",
      "/dev/null": "outside",
      [join(inside, "absent")]: "does not exist",
      [join(good, "below")]: "does not exist",
    };
    for (const [path, why] of Object.entries(refused))
      expect([path, await refusal(path)]).toEqual([path, expect.stringContaining(why)]);
    expect(await refusal("/dev/null", mb, ["/dev"])).toContain("neither");
    mkdirSync(`${inside}-more`);
    const beside = place("inside-more/disk", Buffer.alloc(512, 1));
    expect(await refusal(beside, mb, [inside])).toContain("outside");
    expect(await refusal(good, mb, [])).toContain("outside");
    expect(await refusal(good, mb, [join(folder, "absent"), folder])).toBe("opened");
  } finally {
    rmSync(outside, { recursive: true });
  }
});

test("a disk that is empty, larger than an image may be, or not whole sectors is refused", async () => {
  const bytes = (length: number): string => place("length.img", Buffer.alloc(length, 1));

  expect(await refusal(bytes(mb), mb)).toBe("opened");
  expect(await refusal(bytes(mb + 512), mb)).toContain("has 2 MB; an image may have at most 1 MB");
  expect(await refusal(bytes(513), mb)).toContain("513 bytes, which is no multiple of 512");
  expect(await refusal(bytes(0), mb)).toContain("0 bytes");
});

test.each([
  ["longer", (path: string) => appendFileSync(path, Buffer.alloc(512)), 3 * CHUNK_BYTES + 512],
  ["shorter", (path: string) => truncateSync(path, 3 * CHUNK_BYTES - 512), 3 * CHUNK_BYTES - 512],
])("a disk that becomes %s while it is read fails and leaves no manifest", async (_, resize, now) => {
  const device = place("resized.img", randomBytes(3 * CHUNK_BYTES));
  let resized = false;
  const { id, done } = capture({
    device,
    onRequest: () => {
      if (!resized) resize(device);
      resized = true;
    },
  });

  await expect(done).rejects.toThrow(`from ${3 * CHUNK_BYTES} to ${now} bytes`);
  expect((await store.keys(id)).filter((key) => key.endsWith(MANIFEST))).toEqual([]);
});

test("a cancelled capture ends in the middle and leaves no manifest", async () => {
  const end = new AbortController();
  const { id, done } = capture({
    device: place("dropped.img", randomBytes(4 * CHUNK_BYTES)),
    signal: end.signal,
    onRequest: () => end.abort(new Error("dropped")),
  });

  await expect(done).rejects.toThrow("dropped");
  expect((await store.keys(id)).filter((key) => key.endsWith(MANIFEST))).toEqual([]);
});

test("a short outage of the object store only delays a capture", async () => {
  const raw = randomBytes(3 * CHUNK_BYTES);
  let requests = 0;
  let back: Promise<void> | undefined;
  const { id, done } = capture({
    device: place("patient.img", raw),
    // The first addresses are used while the store is away, the next ones once it is back.
    onRequest: async () => {
      requests += 1;
      if (requests === 1) await store.stop();
      else await (back ??= store.start());
    },
  });

  const { content } = await done;
  expect(back).toBeDefined();
  expect((await rawOf(id, content)).raw.equals(raw)).toBe(true);
});

test("two tries of one disk use different folders", async () => {
  const device = place("twice.img", randomBytes(512));
  const contents = [await capture({ device }).done, await capture({ device }).done].map(({ content }) => content);

  expect(new Set(contents).size).toBe(2);
});
