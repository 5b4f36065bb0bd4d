import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, gzipSync } from "node:zlib";
import { CHUNK_BYTES, rawLengthOf } from "@moorage/disk-image";
import type { ImageContent } from "./image-content.ts";
import type { ImageToSend } from "./image-to-send-store.ts";

const compress = promisify(gzip);
const ZEROS = Buffer.alloc(CHUNK_BYTES);
/** Most of a disk is often zeros: this gzip member is compressed once. */
const ZERO_MEMBER = gzipSync(ZEROS, { level: constants.Z_BEST_COMPRESSION });
/** Number of chunks that are fetched while one is sent. */
const AHEAD = 2;

/** From the first byte, inclusive, to the last, exclusive. */
type Part = { from: number; to: number };

/**
 * The requested part of `bytes`. Undefined: all of it, also for headers that may be ignored; `none`: there is no such
 * part.
 */
export function readRange(header: string | undefined, bytes: number): Part | "none" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === "" || last === "" ? bytes : Math.min(bytes, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  return from < to ? { from, to } : "none";
}

/** The disk, or a part of it. */
export async function* rawBody(image: ImageToSend, content: ImageContent, { from, to }: Part): AsyncGenerator<Buffer> {
  const first = Math.floor(from / CHUNK_BYTES);
  const end = Math.ceil(to / CHUNK_BYTES);
  const check = from === 0 && to === image.rawBytes ? checkOf(image) : undefined;
  let start = first * CHUNK_BYTES;
  for await (const read of readAhead({ first, end, ahead: AHEAD }, content.read)) {
    const chunk = read ?? ZEROS.subarray(0, rawLengthOf(image.rawBytes, start / CHUNK_BYTES));
    check?.(chunk);
    yield chunk.subarray(Math.max(0, from - start), to - start);
    start += CHUNK_BYTES;
  }
}

/** One gzip member per chunk: together they are one gzip file. */
export async function* gzipBody(image: ImageToSend, content: ImageContent): AsyncGenerator<Buffer> {
  const check = checkOf(image);
  const bounds = { first: 0, end: content.chunks, ahead: AHEAD };
  const members = readAhead(bounds, async (index) => {
    const length = rawLengthOf(image.rawBytes, index);
    const raw = (await content.read(index)) ?? ZEROS.subarray(0, length);
    if (raw.length === CHUNK_BYTES && raw.buffer === ZEROS.buffer) return { raw, member: ZERO_MEMBER };
    return { raw, member: await compress(raw, { level: constants.Z_BEST_SPEED }) };
  });
  for await (const { raw, member } of members) {
    check(raw);
    yield member;
  }
}

/** Throws before the last chunk is sent if the digest of the whole disk does not match. */
function checkOf({ id, rawBytes, rawSha256 }: ImageToSend): (chunk: Buffer) => void {
  const hash = createHash("sha256");
  let bytes = 0;
  return (chunk) => {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes === rawBytes && !hash.digest().equals(rawSha256))
      throw new Error(`The chunks of image ${id} are not the disk that it was made of.`);
  };
}

/** The results of `work` for each number from `first` to before `end`, in order, with a few started ahead. */
async function* readAhead<T>(
  { first, end, ahead }: { first: number; end: number; ahead: number },
  work: (index: number) => Promise<T>,
): AsyncGenerator<T> {
  const begun: Promise<T>[] = [];
  const begin = (index: number): void => {
    const result = work(index);
    // An error is thrown when its result is due. Until then, or if the reader leaves, it must not be unhandled.
    result.catch(() => {});
    begun.push(result);
  };
  let next = first;
  while (next < end && next <= first + ahead) begin(next++);
  for (let result = begun.shift(); result !== undefined; result = begun.shift()) {
    yield await result;
    if (next < end) begin(next++);
  }
}
