import { zstdCompressSync } from "node:zlib";
import type { BadFile } from "./bombs.ts";
import { noise, sparse, zeros } from "./disks.ts";
import { cut, fileOf, flipped, header, member, repeated, trailer } from "./gzip-file.ts";

const MB = 1024 ** 2;
const disk = noise(MB);
const whole = member(disk);
const rest = whole.subarray(10);
const rich = header({ extra: Buffer.alloc(100), name: "disk.raw", comment: "a disk", hasSum: true });
const deflated =
  (...bytes: readonly number[]): BadFile["file"] =>
  () =>
    fileOf(header(), bytes, trailer(0, 0));

const SHORT = "The gzip data ends too early";
const TRAILING = "and other data follows";

const truncated: Record<string, BadFile> = Object.fromEntries(
  (
    [
      ["after its first byte", cut(whole, 1), `${SHORT}, in a header`],
      ["in the fixed part of its header", cut(whole, 9), `${SHORT}, in a header`],
      ["in the length of its extra field", cut(rich, 11), `${SHORT}, in a header`],
      ["in its extra field", cut(rich, 50), `${SHORT}, in a header`],
      ["in its name", cut(rich, 115), `${SHORT}, in a header`],
      ["in its comment", cut(rich, 124), `${SHORT}, in a header`],
      ["in the checksum of its header", cut(rich, rich.length - 1), `${SHORT}, in a header`],
      ["after its header", cut(whole, 10), `${SHORT}, after 10 bytes`],
      ["in the middle", cut(whole, whole.length >> 1), `${SHORT}, after ${whole.length >> 1} bytes`],
      ["before its last byte of data", cut(whole, whole.length - 9), `${SHORT}, after ${whole.length - 9} bytes`],
      ["before its checksum", cut(whole, whole.length - 8), `${SHORT}, in its last bytes`],
      ["in its checksum", cut(whole, whole.length - 6), `${SHORT}, in its last bytes`],
      ["before its last byte", cut(whole, whole.length - 1), `${SHORT}, in its last bytes`],
      ["in the header of its second member", fileOf(whole, cut(whole, 1)), `${SHORT}, in a header`],
      ["in its second member", fileOf(whole, cut(whole, 5000)), `${SHORT}, after`],
      ["among small members", fileOf(repeated(50, member(noise(512))), cut(whole, 300)), `${SHORT}, after`],
    ] as const
  ).map(([where, file, reason]) => [`cut short ${where}`, { file: () => file, reason }]),
);

const appended: Record<string, BadFile> = Object.fromEntries(
  (
    [
      ["one zero", [0]],
      ["a sector of zeros", zeros(512)],
      ["a line of text", Buffer.from("the end\n")],
      ["the beginning of something like gzip", [0x1f, 0x00]],
      ["a signature", noise(256)],
    ] as const
  ).map(([what, bytes]) => [`followed by ${what}`, { file: () => fileOf(whole, bytes), reason: TRAILING }]),
);

const damaged: Record<string, BadFile> = {
  "a wrong checksum": { file: () => flipped(whole, -8), reason: "The checksum of the gzip data that begins at byte 0" },
  "a wrong length": {
    file: () => flipped(whole, -1),
    reason: `holds ${MB} bytes, but its trailer states another length`,
  },
  "a wrong checksum in the second member": {
    file: () => fileOf(whole, flipped(whole, -5)),
    reason: `The checksum of the gzip data that begins at byte ${whole.length}`,
  },
  "a wrong checksum in a small member": {
    file: () => fileOf(repeated(3, member(noise(512))), flipped(member(noise(512)), -8)),
    reason: "The checksum of the gzip data that begins at byte",
  },
  "a wrong length in a small member": {
    file: () => fileOf(repeated(3, member(noise(512))), flipped(member(noise(512)), -3)),
    reason: "holds 512 bytes, but its trailer states another length",
  },
  "a bit that flipped in data that were stored as they are": {
    file: () => flipped(member(disk, { level: 0 }), 500_000),
    reason: "The checksum of the gzip data",
  },
  "a header whose checksum is wrong": {
    file: () => fileOf(flipped(header({ name: "disk", hasSum: true }), -1), rest),
    reason: "The checksum of the gzip header at byte 0 is wrong",
  },
  "flags that are reserved": {
    file: () => fileOf(header({ flags: 0x80 }), rest),
    reason: "The gzip header at byte 0 has a method or flags",
  },
  "a method that is not deflate": {
    file: () => fileOf(header({ method: 7 }), rest),
    reason: "The gzip header at byte 0 has a method or flags",
  },
  "a method that is not deflate, in the second member": {
    file: () => fileOf(whole, header({ method: 0 })),
    reason: `The gzip header at byte ${whole.length} has a method or flags`,
  },
  "a block of a type that is none": { file: deflated(0x07), reason: "(invalid block type)" },
  "a stored block whose length contradicts itself": {
    file: deflated(0x01, 0x05, 0x00, 0x05, 0x00),
    reason: "(invalid stored block lengths)",
  },
  "a copy from before the beginning": {
    file: deflated(0x03, 0x02, 0x00),
    reason: "(invalid distance too far back)",
  },
  "tables that contradict themselves": { file: deflated(0xfd, 0xff, 0xff, 0xff), reason: "The gzip data is damaged" },
  "a small member with a block of a type that is none": {
    file: () => fileOf(repeated(3, member(noise(512))), header(), [0x07], trailer(0, 0)),
    reason: "(invalid block type)",
  },
};

const notGzip: Record<string, BadFile> = {
  "an empty upload": { file: () => fileOf(), reason: "The upload is empty" },
  "gzip of nothing": { file: () => fileOf(member(zeros(0))), reason: "an empty file was compressed" },
  "many members of nothing": { file: () => repeated(9, member(zeros(0))), reason: "an empty file was compressed" },
  "a raw disk without gzip": { file: () => fileOf(disk), reason: "The upload is not gzip data: it begins with" },
  "zeros without gzip": { file: () => fileOf(zeros(MB)), reason: "it begins with 00 00 00 00" },
  "a single byte": { file: () => fileOf([0x42]), reason: "it begins with 42," },
  "a page of HTML": { file: () => fileOf(Buffer.from("<html></html>")), reason: "it begins with 3c 68 74 6d" },
  "zlib's own format": { file: () => fileOf([0x78, 0x9c], rest), reason: "The upload is not gzip data" },
  "compress's format": { file: () => fileOf([0x1f, 0x9d, 0x90], rest), reason: "it begins with 1f 9d 90" },
  "a qcow2 disk without gzip": {
    file: () => fileOf(sparse(MB, [0, "QFI\xfb\0\0\0\x02"])),
    reason: "The upload is not gzip data: it is a qcow2 disk. Convert it with",
  },
  "a disk compressed with zstd": {
    file: () => fileOf(zstdCompressSync(disk)),
    reason: "The upload is not gzip data: it is a zstd file. Unpack it",
  },
  "one byte over 5,000,000,000": {
    file: () => fileOf(header(), repeated(4_999_999_991, Buffer.alloc(1))),
    bounds: { uploadBytes: 5_000_000_000 },
    reason: "The upload is larger than 5000000000 bytes",
  },
  "one member more than a file may have": {
    file: () => repeated(17, member(noise(512))),
    bounds: { members: 16 },
    reason: "The gzip data has more than 16 members",
  },
};

/** Files that are not valid gzip. The small bounds apply where none are named. */
export const malformedGzip: Record<string, BadFile> = { ...truncated, ...appended, ...damaged, ...notGzip };
