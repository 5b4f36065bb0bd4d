import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { CHUNK_BYTES, rawLengthOf } from "./chunks.ts";
import type { DiskManifest } from "./manifest.ts";

const ZEROS = Buffer.alloc(CHUNK_BYTES);
const decompress = promisify(zstdDecompress);

/**
 * The raw disk, chunk by chunk. No byte of a chunk comes out that is not as it was put; whether the chunks are together
 * the disk that they were cut from is known at the end, and before its last chunk comes out.
 */
export async function* readDisk(
  manifest: DiskManifest,
  fetchChunk: (index: number) => Promise<Uint8Array>,
): AsyncGenerator<Buffer> {
  const kept = new Map(manifest.chunks.map((chunk) => [chunk.index, chunk]));
  const hash = createHash("sha256");
  const count = Math.ceil(manifest.raw_bytes / CHUNK_BYTES);
  for (let index = 0; index < count; index++) {
    const length = rawLengthOf(manifest.raw_bytes, index);
    const chunk = kept.get(index);
    const raw = chunk === undefined ? ZEROS.subarray(0, length) : await read(chunk, length, await fetchChunk(index));
    hash.update(raw);
    if (index === count - 1 && hash.digest("hex") !== manifest.raw_sha256)
      throw new Error("The chunks are not the disk that the manifest is of.");
    yield raw;
  }
}

async function read(
  { index, bytes, sha256 }: DiskManifest["chunks"][number],
  length: number,
  stored: Uint8Array,
): Promise<Buffer> {
  if (stored.length !== bytes || createHash("sha256").update(stored).digest("hex") !== sha256)
    throw new Error(`Chunk ${index} is not what was put.`);
  const raw = await decompress(stored, { maxOutputLength: CHUNK_BYTES });
  if (raw.length !== length) throw new Error(`Chunk ${index} has ${raw.length} bytes and should have ${length}.`);
  return raw;
}
