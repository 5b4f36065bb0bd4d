import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CHUNK_BYTES } from "./chunks.ts";
import { createCutter, type CutChunk } from "./cutter.ts";
import { DiskManifest } from "./manifest.ts";
import { readDisk } from "./testing/read-disk.ts";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function cutAll(pieces: readonly Buffer[]) {
  const stored = new Map<number, CutChunk>();
  const cutter = createCutter({
    put: async (chunk) => void stored.set(chunk.index, { ...chunk, body: Buffer.from(chunk.body) }),
  });
  for (const piece of pieces) {
    // The writer may reuse the memory.
    const lent = Buffer.from(piece);
    await cutter.write(lent);
    lent.fill(0xff);
  }
  return { manifest: await cutter.end(), stored };
}

async function readAll(manifest: DiskManifest, stored: ReadonlyMap<number, CutChunk>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const raw of readDisk(manifest, async (index) => stored.get(index)?.body ?? Buffer.alloc(0)))
    parts.push(Buffer.from(raw));
  return Buffer.concat(parts);
}

test("a cut disk is read back unchanged, however it was written, and chunks of zeros are left out", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 6_000_000 })), { minLength: 1, maxLength: 8 }),
      async (parts) => {
        const pieces = parts.map(([isZero, bytes]) => (isZero ? Buffer.alloc(bytes) : randomBytes(bytes)));
        const disk = Buffer.concat(pieces);
        const { manifest, stored } = await cutAll(pieces);

        expect(DiskManifest.parse(manifest)).toMatchObject({ raw_bytes: disk.length, raw_sha256: sha256(disk) });
        expect((await readAll(manifest, stored)).equals(disk)).toBe(true);
        for (let index = 0; index * CHUNK_BYTES < disk.length; index++) {
          const raw = disk.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
          expect(stored.has(index)).toBe(raw.some((byte) => byte !== 0));
        }
        expect(manifest.chunks).toEqual(
          [...stored.values()]
            .map(({ index, body }) => ({ index, bytes: body.length, sha256: sha256(body) }))
            .sort((a, b) => a.index - b.index),
        );
      },
    ),
    { numRuns: 8 },
  );
});

test("at most the allowed number of chunks is in progress", async () => {
  let [underWay, most] = [0, 0];
  const cutter = createCutter({
    atOnce: 2,
    async put() {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
    },
  });
  for (let n = 0; n < 6; n++) await cutter.write(Buffer.alloc(CHUNK_BYTES, "x"));
  await cutter.end();
  expect(most).toBeLessThanOrEqual(2);
});

test("a failed put is thrown, and there is no manifest", async () => {
  const cutter = createCutter({ put: () => Promise.reject(new Error("the store is away")) });
  await cutter.write(Buffer.alloc(CHUNK_BYTES, "x"));
  await expect(cutter.end()).rejects.toThrow("the store is away");
  await expect(cutter.write(Buffer.alloc(1))).rejects.toThrow("the store is away");
});

test("a chunk that was changed, swapped or shortened is not read", async () => {
  const { manifest, stored } = await cutAll([randomBytes(2 * CHUNK_BYTES)]);
  const [first, second] = [stored.get(0)?.body ?? Buffer.alloc(0), stored.get(1)?.body ?? Buffer.alloc(0)];
  const changed = Buffer.from(first);
  changed[1000] = (changed[1000] ?? 0) ^ 1;
  for (const body of [changed, second, first.subarray(0, -1), Buffer.alloc(0)]) {
    const reading = readDisk(manifest, async (index) => (index === 0 ? body : second));
    await expect(reading.next()).rejects.toThrow("Chunk 0 is not what was put.");
  }
});

test("valid chunks of another disk are not read to their end", async () => {
  const { manifest, stored } = await cutAll([randomBytes(2 * CHUNK_BYTES)]);
  const other = { ...manifest, raw_sha256: sha256(Buffer.from("another")) };
  await expect(readAll(other, stored)).rejects.toThrow("not the disk that the manifest is of");
});

test("a chunk that decompresses to more than a chunk is not read", async () => {
  const { manifest, stored } = await cutAll([Buffer.alloc(CHUNK_BYTES, "x")]);
  const shorter = { ...manifest, raw_bytes: CHUNK_BYTES - 512 };
  await expect(readAll(shorter, stored)).rejects.toThrow(`should have ${CHUNK_BYTES - 512}`);
});
