import { createHash } from "node:crypto";
import { CHUNK_BYTES } from "./chunks.ts";
import { compressChunk } from "./compress.ts";
import type { DiskManifest } from "./manifest.ts";
import { release } from "./release.ts";

export { MOST_STORED_BYTES } from "./compress.ts";
export { release } from "./release.ts";

/**
 * `body` is the raw chunk compressed with zstd, and `sha256` is of the body. The body is only valid until `put`
 * returns.
 */
export type CutChunk = { index: number; body: Buffer; sha256: string };
export type Cutter = {
  /** The caller may reuse the bytes once the promise resolves. Waits while too many chunks are being put. */
  write: (raw: Uint8Array) => Promise<void>;
  /** Resolves once every chunk has been put. */
  end: () => Promise<DiskManifest>;
  readonly rawBytes: number;
  /** Raw bytes in chunks that are not all zeros. */
  readonly keptBytes: number;
};

const ZEROS = Buffer.alloc(64 * 1024);

/**
 * Cuts a disk into chunks. `put` gets each chunk that is not all zeros, compressed, at most `atOnce` at a time and in
 * any order. An error of `put` is thrown by the next call.
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
    const body = await compressChunk(raw);
    const sha256 = createHash("sha256").update(body).digest("hex");
    storedBytes += body.length;
    chunks.push({ index: chunk, bytes: body.length, sha256 });
    await put({ index: chunk, body, sha256 });
    release(body);
  };
  const throwFault = (): void => {
    if (faults.length > 0) throw faults[0];
  };

  /** Makes a chunk of the bytes so far. */
  const cut = async (): Promise<void> => {
    const raw = current.subarray(0, filled);
    rawHash.update(raw);
    const mine = index++;
    filled = 0;
    if (isZero(raw)) return;
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
        format: 1,
        raw_bytes: rawBytes,
        raw_sha256: rawHash.digest("hex"),
        kept_bytes: keptBytes,
        stored_bytes: storedBytes,
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

/** Cheap for a chunk with data: it stops at the first difference. */
function isZero(raw: Buffer): boolean {
  for (let from = 0; from < raw.length; from += ZEROS.length) {
    const part = raw.subarray(from, from + ZEROS.length);
    if (!part.equals(ZEROS.subarray(0, part.length))) return false;
  }
  return true;
}
