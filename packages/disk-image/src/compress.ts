import type { TransformOptions } from "node:stream";
import { constants, createZstdCompress, type ZstdOptions } from "node:zlib";
import { CHUNK_BYTES } from "./chunks.ts";

/** What zstd makes of a chunk that it cannot compress, and a little more. */
export const MOST_STORED_BYTES = CHUNK_BYTES + 64 * 1024;

/**
 * One chunk, off the main thread. That it is all there is is told with the chunk itself: zstd then works on it where it
 * lies, and the result is one piece that was never copied. Neither is so with Node's `zstdCompress`.
 */
export function compressChunk(raw: Buffer): Promise<Buffer> {
  const options: ZstdOptions & Pick<TransformOptions, "readableObjectMode"> = {
    ...{ flush: constants.ZSTD_e_end, chunkSize: MOST_STORED_BYTES, pledgedSrcSize: raw.length },
    ...{ params: { [constants.ZSTD_c_compressionLevel]: 1 }, readableObjectMode: true },
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
