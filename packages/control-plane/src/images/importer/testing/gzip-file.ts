import { constants, crc32, deflateRawSync } from "node:zlib";

/** A file that is generated while it is read. */
export type TestFile = { bytes: number; pieces: () => Iterable<Buffer> };

const PIECE_BYTES = 256 * 1024;

export const fileOf = (...parts: readonly (Buffer | TestFile | readonly number[])[]): TestFile => {
  const files = parts.map((part) => ("pieces" in part ? part : plain(Buffer.from(part as Buffer))));
  return {
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    *pieces() {
      for (const file of files) yield* file.pieces();
    },
  };
};

/** The same bytes many times, in pieces of the size of one read. */
export function repeated(times: number, bytes: Buffer): TestFile {
  const each = Math.min(times, Math.max(1, Math.floor(PIECE_BYTES / bytes.length)));
  const piece = Buffer.concat(Array.from({ length: each }, () => bytes));
  return {
    bytes: times * bytes.length,
    *pieces() {
      for (let left = times; left > 0; left -= each)
        yield left >= each ? piece : piece.subarray(0, left * bytes.length);
    },
  };
}

export const cut = (file: Buffer, bytes: number): TestFile => plain(file.subarray(0, bytes));

/** With one byte changed. A negative offset counts from the end. */
export function flipped(file: Buffer, at: number): TestFile {
  const copy = Buffer.from(file);
  const place = at < 0 ? copy.length + at : at;
  copy[place] = (copy[place] ?? 0) ^ 0xff;
  return plain(copy);
}

const plain = (bytes: Buffer): TestFile => ({ bytes: bytes.length, pieces: () => [bytes] });

export type HeaderFields = {
  extra?: Buffer;
  name?: string;
  comment?: string;
  hasSum?: boolean;
  flags?: number;
  method?: number;
};

export function header({ extra, name, comment, hasSum = false, flags = 0, method = 8 }: HeaderFields = {}): Buffer {
  const flag =
    flags | (hasSum ? 2 : 0) | (extra ? 4 : 0) | (name === undefined ? 0 : 8) | (comment === undefined ? 0 : 16);
  const fields = Buffer.concat([
    Buffer.from([0x1f, 0x8b, method, flag, 0, 0, 0, 0, 0, 3]),
    ...(extra === undefined ? [] : [Buffer.from([extra.length & 255, extra.length >> 8]), extra]),
    ...[name, comment].flatMap((text) => (text === undefined ? [] : [Buffer.from(`${text}\0`, "latin1")])),
  ]);
  if (!hasSum) return fields;
  const sum = crc32(fields) & 0xffff;
  return Buffer.concat([fields, Buffer.from([sum & 255, sum >> 8])]);
}

export function trailer(sum: number, bytes: number): Buffer {
  const end = Buffer.alloc(8);
  end.writeUInt32LE(sum, 0);
  end.writeUInt32LE(bytes % 2 ** 32, 4);
  return end;
}

export const member = (raw: Buffer, fields: HeaderFields & { level?: number } = {}): Buffer =>
  Buffer.concat([
    header(fields),
    deflateRawSync(raw, { level: fields.level ?? constants.Z_BEST_SPEED }),
    trailer(crc32(raw), raw.length),
  ]);

/** Deflate blocks, none of them marked as the last. */
export const blocks = (raw: Buffer): Buffer =>
  deflateRawSync(raw, { level: constants.Z_BEST_COMPRESSION, finishFlush: constants.Z_FULL_FLUSH });
/** The last block, empty. */
export const LAST_BLOCK = Buffer.from([0x03, 0x00]);

/**
 * The same raw bytes many times as a single member. Its checksum is right only with `isTrue`, because computing it
 * takes long.
 */
export function longMember(times: number, raw: Buffer, { isTrue }: { isTrue: boolean }): TestFile {
  let sum = 0;
  if (isTrue) for (let n = 0; n < times; n++) sum = crc32(raw, sum);
  return fileOf(header(), repeated(times, blocks(raw)), LAST_BLOCK, trailer(sum, times * raw.length));
}
