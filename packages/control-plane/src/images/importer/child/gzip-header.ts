import { crc32 } from "node:zlib";
import type { Input } from "./input.ts";
import { refuse } from "./refused.ts";

const [HAS_SUM, HAS_EXTRA, HAS_NAME, HAS_COMMENT, RESERVED] = [0x02, 0x04, 0x08, 0x10, 0xe0];
const [FIXED_BYTES, DEFLATE] = [10, 8];
/** Limit of the file name and of the comment. No tool writes as much. */
const MOST_TEXT_BYTES = 32 * 1024;

/** Skips the header of a member (RFC 1952), which holds nothing that an import needs. */
export async function passHeader(input: Input): Promise<void> {
  const start = input.position;
  let sum = 0;
  const take = async (bytes: number): Promise<Buffer> => {
    const taken = await input.take(bytes);
    if (taken.length < bytes) cutShort("header");
    sum = crc32(taken, sum);
    return taken;
  };
  const fixed = await take(FIXED_BYTES);
  const [method, flags] = [fixed.readUInt8(2), fixed.readUInt8(3)];
  if (method !== DEFLATE || (flags & RESERVED) !== 0) refuse("gzipHeaderUnsupported", { start });

  if ((flags & HAS_EXTRA) !== 0) await take((await take(2)).readUInt16LE());
  for (const text of [HAS_NAME, HAS_COMMENT]) if ((flags & text) !== 0) sum = await passText(input, start, sum);
  if ((flags & HAS_SUM) === 0) return;
  const expected = sum & 0xffff;
  if ((await take(2)).readUInt16LE() !== expected) refuse("gzipHeaderChecksumWrong", { start });
}

/** Up to and including the zero byte that ends it. */
async function passText(input: Input, start: number, sumBefore: number): Promise<number> {
  let [sum, passed] = [sumBefore, 0];
  while (await input.fill()) {
    const { rest } = input;
    const end = rest.indexOf(0);
    const text = end === -1 ? rest : rest.subarray(0, end + 1);
    passed += text.length;
    if (passed > MOST_TEXT_BYTES) refuse("gzipHeaderTooLong", { start, maxBytes: MOST_TEXT_BYTES });
    sum = crc32(text, sum);
    input.use(text.length);
    if (end !== -1) return sum;
  }
  return cutShort("header");
}

export const cutShort = (at: "header" | "trailer" | number): never => refuse("gzipTruncated", { at });
