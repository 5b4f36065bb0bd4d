import type { BadFile } from "./bombs.ts";
import { gpt, mbr, noise, sparse } from "./disks.ts";
import { fileOf, member } from "./gzip-file.ts";

const MB = 1024 ** 2;
const SECTORS = (8 * MB) / 512;
/** A disk of 8 MB that contains this. */
const diskWith =
  (...parts: Parameters<typeof sparse> extends [number, ...infer Parts] ? Parts : never) =>
  () =>
    fileOf(member(sparse(8 * MB, ...parts)));

const inside = (name: string): string => `What was compressed is ${name}`;
const GPT = "The partition table (GPT) is damaged";

const sizes: Record<string, BadFile> = {
  "half a sector": {
    file: () => fileOf(member(noise(256))),
    reason: "The disk has 256 bytes, which is no multiple of 512",
  },
  "one byte less than a sector": { file: () => fileOf(member(noise(511))), reason: "The disk has 511 bytes" },
  "one byte more than a disk": { file: () => fileOf(member(noise(MB + 1))), reason: `The disk has ${MB + 1} bytes` },
  "a member of a byte after a disk": {
    file: () => fileOf(member(noise(MB)), member(noise(1))),
    reason: `The disk has ${MB + 1} bytes`,
  },
};

const foreign: Record<string, BadFile> = Object.fromEntries(
  (
    [
      ["qcow", inside("a qcow disk"), [0, "QFI\xfb\0\0\0\x01"]],
      ["qcow2", inside("a qcow2 disk"), [0, "QFI\xfb\0\0\0\x02"]],
      ["qed", inside("a QED disk"), [0, "QED\0"]],
      ["vmdk, sparse", inside("a VMDK disk"), [0, "KDMV\x01\0\0\0"]],
      ["vmdk, of a server", inside("a VMDK disk"), [0, "COWD"]],
      ["vmdk, its descriptor", inside("a VMDK (its descriptor"), [0, "# Disk DescriptorFile\nversion=1\n"]],
      ["vhd, dynamic", inside("a dynamic VHD disk"), [0, "conectix"]],
      ["vhd, dynamic, without its copy of the end", inside("a dynamic VHD disk"), [512, "cxsparse"]],
      ["vhd, fixed", inside("a VHD disk of fixed size"), [8 * MB - 512, "conectix"]],
      ["vhdx", inside("a VHDX disk"), [0, "vhdxfile"]],
      ["vdi", inside("a VDI disk"), [64, "\x7f\x10\xda\xbe"]],
      ["parallels", inside("a Parallels disk"), [0, "WithoutFreeSpace"]],
      ["iso", inside("an ISO 9660 image"), [32_768, "\x01CD001\x01"]],
      ["xz", inside("an xz file"), [0, "\xfd7zXZ\0"]],
      ["bzip2", inside("a bzip2 file"), [0, "BZh91AY&SY"]],
      ["zstd", inside("a zstd file"), [0, "\x28\xb5\x2f\xfd"]],
      ["lz4", inside("an lz4 file"), [0, "\x04\x22\x4d\x18"]],
      ["zip", inside("a zip archive"), [0, "PK\x03\x04"]],
      ["7z", inside("a 7z archive"), [0, "7z\xbc\xaf\x27\x1c"]],
      ["tar", inside("a tar archive"), [257, "ustar  \0"]],
      ["gzip", inside("gzip data once more"), [0, "\x1f\x8b\x08\0"]],
    ] as const
  ).map(([name, reason, part]) => [`inside: ${name}`, { file: diskWith(part), reason }]),
);

const partitions: Record<string, BadFile> = {
  "a partition beyond the end": {
    file: diskWith([0, mbr({ type: 0x83, first: 2048, sectors: SECTORS - 2047 })]),
    reason: `Partition 1 ends at sector ${SECTORS + 1}, and the disk has only ${SECTORS} sectors`,
  },
  "a fourth partition beyond the end": {
    file: diskWith([
      0,
      mbr(...[0, 1, 2].map(() => ({ type: 0x83, first: 1, sectors: 9 })), { type: 7, first: 0xffffffff, sectors: 1 }),
    ]),
    reason: "Partition 4 ends at sector 4294967296",
  },
  "a logical partition beyond the end": {
    file: diskWith(
      [0, mbr({ type: 0x0f, first: 2048, sectors: SECTORS - 2048 })],
      [2048 * 512, mbr({ type: 0x83, first: 64, sectors: 128 }, { type: 0x05, first: 8192, sectors: 2048 })],
      [10_240 * 512, mbr({ type: 0x83, first: 64, sectors: SECTORS })],
    ),
    reason: `Partition 6 ends at sector ${10_240 + 64 + SECTORS}`,
  },
  "logical partitions in a circle": {
    file: diskWith(
      [0, mbr({ type: 0x05, first: 2048, sectors: 4096 })],
      [2048 * 512, mbr({ type: 0x83, first: 64, sectors: 128 }, { type: 0x05, first: 0, sectors: 2048 })],
    ),
    reason: "The chain of logical partitions turns back at sector 2048",
  },
  "a GPT that is announced and not there": {
    file: diskWith([0, mbr({ type: 0xee, first: 1, sectors: 0xffffffff })]),
    reason: `${GPT}: its first sector announces one`,
  },
  "a GPT for sectors of 4096 bytes": {
    file: diskWith([0, mbr({ type: 0xee, first: 1, sectors: 0xffffffff })], [4096, "EFI PART"]),
    reason: "The disk has sectors of 4096 bytes",
  },
  "a GPT whose header was changed": {
    file: diskWith([0, gpt(8 * MB, [{ first: 2048n, last: 4095n }])], [512 + 40, "\xff"]),
    reason: `${GPT}: the checksum of its header is wrong`,
  },
  "a GPT whose entries were changed": {
    file: diskWith([0, gpt(8 * MB, [{ first: 2048n, last: 4095n }])], [1024 + 40, "\x01"]),
    reason: `${GPT}: the checksum of its entries is wrong`,
  },
  "a partition of a GPT beyond the end": {
    file: diskWith([0, gpt(8 * MB, [{ first: 2048n, last: BigInt(SECTORS) }])]),
    reason: `Partition 1 ends at sector ${SECTORS + 1}`,
  },
  "a partition of a GPT beyond every disk": {
    file: diskWith([0, gpt(8 * MB, [{ first: 2048n, last: 2n ** 64n - 1n }])]),
    reason: "Partition 1 ends at sector 18446744073709552000",
  },
  "a partition of a GPT that ends before it begins": {
    file: diskWith([0, gpt(8 * MB, [{ first: 4096n, last: 2048n }])]),
    reason: `${GPT}: partition 1 ends before it begins`,
  },
  "a GPT with entries of another size": {
    file: diskWith([0, gpt(8 * MB, [], { entryBytes: 100 })]),
    reason: `${GPT}: its header claims entries of 100 bytes`,
  },
  "a GPT with four billion entries": {
    file: diskWith([0, gpt(8 * MB, [], { count: 0xffffffff })]),
    reason: `${GPT}: its header claims 4294967295 entries`,
  },
  "a GPT whose entries are nowhere": {
    file: diskWith([0, gpt(8 * MB, [], { entriesAt: 2n ** 63n })]),
    reason: `${GPT}: its header claims that the entries begin at sector 9223372036854776000`,
  },
  "a GPT whose header has no size": {
    file: diskWith([0, gpt(8 * MB, [], { headerBytes: 0 })]),
    reason: `${GPT}: its header claims a size of 0 bytes`,
  },
  "a GPT whose header belongs elsewhere": {
    file: diskWith([0, gpt(8 * MB, [], { myself: 7n })]),
    reason: `${GPT}: its header claims to be in another sector`,
  },
};

/** Contents that are no raw disk, in valid gzip files. */
export const malformedDisks: Record<string, BadFile> = { ...sizes, ...foreign, ...partitions };
