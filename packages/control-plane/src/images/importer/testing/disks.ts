import { createCipheriv } from "node:crypto";
import { crc32 } from "node:zlib";

const SECTOR = 512;
const IV = Buffer.alloc(16);

/** Incompressible bytes, always the same for a seed. */
export const noise = (bytes: number, seed = 1): Buffer =>
  createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), IV).update(Buffer.alloc(bytes));

export const zeros = (bytes: number): Buffer => Buffer.alloc(bytes);

/** Zeros with these bytes at their offsets. */
export function sparse(bytes: number, ...parts: readonly (readonly [at: number, what: Buffer | string])[]): Buffer {
  const disk = Buffer.alloc(bytes);
  for (const [at, what] of parts) disk.set(Buffer.from(what as string, "latin1"), at);
  return disk;
}

/** In sectors, from the beginning of the disk, or of the sector that holds the table. */
export type MbrEntry = { type: number; first: number; sectors: number; status?: number };

export function mbr(...entries: readonly MbrEntry[]): Buffer {
  const sector = Buffer.alloc(SECTOR);
  for (const [index, { type, first, sectors, status = 0 }] of entries.entries()) {
    const at = 446 + 16 * index;
    sector.writeUInt8(status, at);
    sector.writeUInt8(type, at + 4);
    sector.writeUInt32LE(first, at + 8);
    sector.writeUInt32LE(sectors, at + 12);
  }
  sector.writeUInt16LE(0xaa55, SECTOR - 2);
  return sector;
}

export type GptEntry = { first: bigint; last: bigint };
type Lies = { entryBytes?: number; entriesAt?: bigint; count?: number; headerBytes?: number; myself?: bigint };

/**
 * The first sectors of a disk: the protective MBR, the header, 128 entries. The checksums are right even with `lies`.
 */
export function gpt(diskBytes: number, entries: readonly GptEntry[], lies: Lies = {}): Buffer {
  const last = BigInt(diskBytes / SECTOR - 1);
  const table = Buffer.alloc(128 * 128);
  for (const [index, entry] of entries.entries()) {
    table.fill(0xaf, index * 128, index * 128 + 32);
    table.writeBigUInt64LE(entry.first, index * 128 + 32);
    table.writeBigUInt64LE(entry.last, index * 128 + 40);
  }
  const head = Buffer.alloc(SECTOR);
  head.write("EFI PART", 0, "latin1");
  head.writeUInt32LE(0x10000, 8);
  head.writeUInt32LE(lies.headerBytes ?? 92, 12);
  head.writeBigUInt64LE(lies.myself ?? 1n, 24);
  head.writeBigUInt64LE(last, 32);
  head.writeBigUInt64LE(34n, 40);
  head.writeBigUInt64LE(last - 33n, 48);
  head.writeBigUInt64LE(lies.entriesAt ?? 2n, 72);
  head.writeUInt32LE(lies.count ?? 128, 80);
  head.writeUInt32LE(lies.entryBytes ?? 128, 84);
  head.writeUInt32LE(crc32(table), 88);
  head.writeUInt32LE(crc32(head.subarray(0, 92)), 16);
  return Buffer.concat([mbr({ type: 0xee, first: 1, sectors: 0xffffffff }), head, table]);
}
