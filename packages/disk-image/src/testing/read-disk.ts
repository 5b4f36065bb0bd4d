import { createHash } from "node:crypto";
import { CHUNK_BYTES, rawLengthOf } from "../chunks.ts";
import type { DiskManifest } from "../manifest.ts";
import { unpackChunk } from "../unpack-chunk.ts";

const ZEROS = Buffer.alloc(CHUNK_BYTES);

/**
 * The raw disk, chunk by chunk. Every chunk is verified before its bytes are returned; that all chunks together are the
 * original disk is verified at the end, before the last chunk is returned.
 */
export async function* readDisk(
  manifest: DiskManifest,
  fetchChunk: (index: number) => Promise<Uint8Array>,
): AsyncGenerator<Buffer> {
  const kept = new Map(manifest.chunks.map((chunk) => [chunk.index, chunk]));
  const hash = createHash("sha256");
  const count = Math.ceil(manifest.raw_bytes / CHUNK_BYTES);
  for (let index = 0; index < count; index++) {
    const chunk = kept.get(index);
    const raw =
      chunk === undefined
        ? ZEROS.subarray(0, rawLengthOf(manifest.raw_bytes, index))
        : await read(manifest, chunk, await fetchChunk(index));
    hash.update(raw);
    if (index === count - 1 && hash.digest("hex") !== manifest.raw_sha256)
      throw new Error("The chunks are not the disk that the manifest is of.");
    yield raw;
  }
}

async function read(
  { raw_bytes }: DiskManifest,
  { index, bytes, sha256 }: DiskManifest["chunks"][number],
  stored: Uint8Array,
): Promise<Buffer> {
  if (stored.length !== bytes || createHash("sha256").update(stored).digest("hex") !== sha256)
    throw new Error(`Chunk ${index} is not what was put.`);
  return unpackChunk(stored, raw_bytes, index);
}
