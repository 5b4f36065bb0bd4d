import { crc32 } from "node:zlib";
import { foreignFormat } from "@moorage/disk-image/inspection";
import { cutShort, passHeader } from "./gzip-header.ts";
import { inflateSmall, inflateStream } from "./inflate.ts";
import type { Input } from "./input.ts";
import { refuse } from "./refused.ts";

const [MAGIC_FIRST, MAGIC_SECOND] = [0x1f, 0x8b];
const TRAILER_BYTES = 8;
const SMALL_MEMBER_BYTES = 32 * 1024;

/** The content of a gzip file: one or many members, and no byte outside of them. */
export async function* gunzip(input: Input, mostMembers: number): AsyncGenerator<Buffer> {
  let isSmall = false;
  for (let members = 0; await startsMember(input, members); members++) {
    if (members === mostMembers) refuse("gzipMemberLimit", { max: mostMembers });
    const start = input.position;
    await passHeader(input);
    const small = isSmall && (await input.fill()) ? inflateSmall(input) : undefined;
    let [sum, bytes] = [0, 0];
    if (small !== undefined) {
      [sum, bytes] = [crc32(small), small.length];
      if (bytes > 0) yield small;
    } else
      for await (const raw of inflateStream(input)) {
        sum = crc32(raw, sum);
        bytes += raw.length;
        yield raw;
      }
    await checkTrailer(input, start, { sum, bytes });
    isSmall = input.position - start < SMALL_MEMBER_BYTES;
  }
}

async function startsMember(input: Input, members: number): Promise<boolean> {
  const start = input.position;
  if (!(await input.fill())) {
    if (members === 0) refuse("uploadEmpty", {});
    return false;
  }
  if (input.rest[0] === MAGIC_FIRST && (input.rest.length < 2 || input.rest[1] === MAGIC_SECOND)) return true;
  if (members > 0) refuse("uploadHasTrailingData", { position: start });
  return refuseOther(input.rest);
}

function refuseOther(head: Buffer): never {
  const foreign = foreignFormat(head);
  if (foreign !== undefined) refuse("uploadOfOtherFormat", { format: foreign });
  const first = head
    .subarray(0, 4)
    .toString("hex")
    .replaceAll(/(..)(?=.)/g, "$1 ");
  return refuse("uploadNotGzip", { first });
}

async function checkTrailer(
  input: Input,
  start: number,
  { sum, bytes }: { sum: number; bytes: number },
): Promise<void> {
  const trailer = await input.take(TRAILER_BYTES);
  if (trailer.length < TRAILER_BYTES) cutShort("trailer");
  if (trailer.readUInt32LE(0) !== sum) refuse("gzipChecksumWrong", { start });
  if (trailer.readUInt32LE(4) !== bytes % 2 ** 32) refuse("gzipLengthWrong", { start, bytes });
}
