import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";

const MB = 1024 * 1024;

/** A raw disk of which every other MB is data: no two are alike, and there are zeros to skip. */
export function aDisk(mb: number): Buffer<ArrayBuffer> {
  const disk = Buffer.alloc(mb * MB);
  for (let at = 0; at < mb; at += 2) randomBytes(MB).copy(disk, at * MB);
  return disk;
}

/** Compressed as a tenant does it. */
export const packed = (disk: Uint8Array): Buffer<ArrayBuffer> => gzipSync(disk, { level: 1 });

/** A disk in another format than raw, as a converter makes it. */
export function aForeignDisk(): Buffer<ArrayBuffer> {
  const disk = Buffer.alloc(MB);
  disk.write("QFI\xfb", 0, "latin1");
  disk.writeUInt32BE(3, 4);
  return disk;
}
