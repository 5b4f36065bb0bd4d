import type { TransformOptions } from "node:stream";
import { constants, createZstdCompress, type ZstdOptions } from "node:zlib";
import { CHUNK_BYTES } from "./chunks.ts";

/** Upper bound for zstd's output of an incompressible chunk. */
export const MOST_STORED_BYTES = CHUNK_BYTES + 64 * 1024;

/**
 * Compresses one chunk off the main thread. The chunk and the end of input are passed in one call: zstd then works
 * without copying its input, and the result is one uncopied buffer. Node's `zstdCompress` does neither.
 */
export function compressChunk(raw: Buffer): Promise<Buffer> {
  const options: ZstdOptions & Pick<TransformOptions, "readableObjectMode"> = {
    flush: constants.ZSTD_e_end,
    chunkSize: MOST_STORED_BYTES,
    pledgedSrcSize: raw.length,
    params: { [constants.ZSTD_c_compressionLevel]: 1 },
    readableObjectMode: true,
  };
  const zstd = createZstdCompress(options);
  return new Promise<Buffer>((resolve, reject) => {
    zstd.once("error", reject);
    zstd.write(raw, (error) => {
      const whole = zstd.read() as Buffer | null;
      const more = zstd.read() as Buffer | null;
      if (error) reject(error);
      else if (whole === null || more !== null) reject(new Error("A chunk was not compressed into one piece."));
      else resolve(whole);
    });
  }).finally(() => zstd.destroy());
}
