import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { CHUNK_BYTES } from "./chunks.ts";
import type { DiskManifest } from "./manifest.ts";

/** `body` is zstd of the raw chunk, and `sha256` is of the body. */
export type CutChunk = { index: number; body: Buffer; sha256: string };
export type Cutter = {
  /** Takes these bytes: they may be overwritten as soon as it returns. Waits while too many chunks are under way. */
  write: (raw: Uint8Array) => Promise<void>;
  /** When every chunk was put. */
  end: () => Promise<DiskManifest>;
  readonly rawBytes: number;
  /** Of them, those in chunks that are not zeros throughout. */
  readonly keptBytes: number;
};

/** What zstd makes of a chunk that it cannot compress, and a little more. */
export const MOST_STORED_BYTES = CHUNK_BYTES + 64 * 1024;
const ZEROS = Buffer.alloc(CHUNK_BYTES);
const compress = promisify(zstdCompress);

/**
 * Cuts a disk into chunks. `put` gets each that is not zeros throughout, compressed, at most `atOnce` of them at a
 * time and in any order. Whatever it throws is thrown by the next call.
 */
export function createCutter({
  put,
  atOnce = 2,
}: {
  put: (chunk: CutChunk) => Promise<void>;
  atOnce?: number;
}): Cutter {
  const rawHash = createHash("sha256");
  const chunks: DiskManifest["chunks"] = [];
  const spare: Buffer[] = [];
  const underWay = new Set<Promise<void>>();
  const faults: unknown[] = [];
  let current: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let [filled, index] = [0, 0];
  let [rawBytes, keptBytes, storedBytes] = [0, 0, 0];

  const keep = async (chunk: number, raw: Buffer): Promise<void> => {
    const body = await compressed(raw);
    const sha256 = createHash("sha256").update(body).digest("hex");
    storedBytes += body.length;
    chunks.push({ index: chunk, bytes: body.length, sha256 });
    await put({ index: chunk, body, sha256 });
  };
  const throwFault = (): void => {
    if (faults.length > 0) throw faults[0];
  };

  /** The bytes so far as a chunk. What is zeros costs one comparison, which for all else ends at the first byte. */
  const cut = async (): Promise<void> => {
    const raw = current.subarray(0, filled);
    rawHash.update(raw);
    const mine = index++;
    filled = 0;
    if (raw.equals(ZEROS.subarray(0, raw.length))) return;
    keptBytes += raw.length;
    while (underWay.size >= atOnce) await Promise.race(underWay);
    throwFault();
    const buffer = current;
    const work: Promise<void> = keep(mine, raw)
      .catch((error: unknown) => void faults.push(error))
      .finally(() => {
        underWay.delete(work);
        spare.push(buffer);
      });
    underWay.add(work);
    current = spare.pop() ?? Buffer.allocUnsafe(CHUNK_BYTES);
  };

  return {
    async write(raw) {
      throwFault();
      rawBytes += raw.length;
      for (let from = 0; from < raw.length; ) {
        const part = raw.subarray(from, from + CHUNK_BYTES - filled);
        current.set(part, filled);
        filled += part.length;
        from += part.length;
        if (filled === CHUNK_BYTES) await cut();
      }
    },
    async end() {
      if (filled > 0) await cut();
      await Promise.all(underWay);
      throwFault();
      return {
        ...{ format: 1, raw_bytes: rawBytes, raw_sha256: rawHash.digest("hex") },
        ...{ kept_bytes: keptBytes, stored_bytes: storedBytes },
        chunks: chunks.sort((a, b) => a.index - b.index),
      };
    },
    get rawBytes() {
      return rawBytes;
    },
    get keptBytes() {
      return keptBytes;
    },
  };
}

/** In one piece, so that nothing is put together from many. */
const compressed = (raw: Buffer): Promise<Buffer> =>
  compress(raw, {
    chunkSize: MOST_STORED_BYTES,
    pledgedSrcSize: raw.length,
    params: { [constants.ZSTD_c_compressionLevel]: 1 },
  });
