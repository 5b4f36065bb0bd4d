import { SECTOR_BYTES } from "./chunks.ts";

type Format = { name: string; remedy: string; is: (head: Buffer) => boolean };

/** The first bytes of a file that are needed to recognise its format. */
export const FORMAT_BYTES = 64 * 1024;

const at =
  (offset: number, ...magics: readonly (string | readonly number[])[]) =>
  (head: Buffer): boolean =>
    magics.some((magic) => {
      const bytes = typeof magic === "string" ? Buffer.from(magic, "latin1") : Buffer.from(magic);
      return head.subarray(offset, offset + bytes.length).equals(bytes);
    });

const convert = (name: string): string =>
  `Convert it with "qemu-img convert -O raw disk.${name} disk.raw", compress that with "gzip disk.raw", and upload disk.raw.gz.`;
const disk = (name: string, suffix: string, is: Format["is"]): Format => ({
  name: `a ${name} disk`,
  remedy: convert(suffix),
  is,
});
const packed = (name: string, is: Format["is"]): Format => ({
  name,
  is,
  remedy: 'Unpack it, compress the raw disk that is in it with "gzip disk.raw", and upload disk.raw.gz.',
});

/** Recognised by their first bytes. Anything else is taken for a raw disk. */
const formats: readonly Format[] = [
  disk("qcow2", "qcow2", at(0, "QFI\xfb\0\0\0\x02", "QFI\xfb\0\0\0\x03")),
  disk("qcow", "qcow", at(0, "QFI\xfb")),
  disk("QED", "qed", at(0, "QED\0")),
  disk("VMDK", "vmdk", at(0, "KDMV", "COWD")),
  disk("VMDK (its descriptor, without the data)", "vmdk", at(0, "# Disk DescriptorFile")),
  disk("VHDX", "vhdx", at(0, "vhdxfile")),
  disk("dynamic VHD", "vhd", (head) => at(0, "conectix")(head) || at(SECTOR_BYTES, "cxsparse")(head)),
  disk("VDI", "vdi", at(64, [0x7f, 0x10, 0xda, 0xbe])),
  disk("Parallels", "hds", at(0, "WithoutFreeSpace", "WithouFreSpacExt")),
  {
    name: "an ISO 9660 image of a CD or DVD",
    remedy: "Install the system from it onto a disk, and upload that disk: raw, compressed with gzip.",
    is: (head) => at(32769, "CD001")(head),
  },
  packed("an xz file", at(0, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])),
  packed("a bzip2 file", (head) => at(0, "BZh")(head) && at(4, "1AY&SY", [0x17, 0x72, 0x45, 0x38, 0x50, 0x90])(head)),
  packed("a zstd file", at(0, [0x28, 0xb5, 0x2f, 0xfd])),
  packed("an lz4 file", at(0, [0x04, 0x22, 0x4d, 0x18])),
  packed("a zip archive", at(0, "PK\x03\x04", "PK\x05\x06")),
  packed("a 7z archive", at(0, [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c])),
  packed("a tar archive", at(257, "ustar")),
  {
    name: "gzip data once more",
    remedy: "It was compressed twice: take one layer off with gunzip, and upload what remains.",
    is: at(0, [0x1f, 0x8b, 0x08]),
  },
];

/** A fixed-size VHD is a raw disk followed by a footer sector. */
const fixedVhd = { name: "a VHD disk of fixed size", remedy: convert("vhd"), is: at(0, "conectix") };
const all: readonly Format[] = [...formats, fixedVhd];

export const formatNames = all.map(({ name }) => name);
/** What to do with a file of this format. */
export const remedyOf = (format: string): string => all.find(({ name }) => name === format)?.remedy ?? "";

/** The name of the format that the first bytes show. */
export const foreignFormat = (head: Buffer): string | undefined => formats.find(({ is }) => is(head))?.name;
export const foreignEnd = (lastSector: Buffer): string | undefined =>
  fixedVhd.is(lastSector) ? fixedVhd.name : undefined;
