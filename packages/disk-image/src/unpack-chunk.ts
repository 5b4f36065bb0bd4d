import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { CHUNK_BYTES, rawLengthOf } from "./chunks.ts";

const decompress = promisify(zstdDecompress);

/** The raw bytes of a stored chunk. The caller checks its hash. */
export async function unpackChunk(stored: Uint8Array, rawBytes: number, index: number): Promise<Buffer> {
  const raw = await decompress(stored, { maxOutputLength: CHUNK_BYTES });
  const length = rawLengthOf(rawBytes, index);
  if (raw.length !== length) throw new Error(`Chunk ${index} has ${raw.length} bytes and should have ${length}.`);
  return raw;
}
