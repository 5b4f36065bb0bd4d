import { expect, test } from "vitest";
import { describeFault } from "./describe-fault.ts";
import type { DiskFault } from "./disk-fault.ts";
import { createInspection } from "./inspection.ts";

/** The importer's corpus covers every number and message with whole files; these tests cover streaming. */
const MB = 1024 * 1024;

const sentence = (fault: DiskFault | undefined): string | undefined =>
  fault === undefined ? undefined : describeFault(fault);

function judge(disk: Buffer, pieceBytes: number): string | undefined {
  const inspection = createInspection();
  for (let from = 0; from < disk.length; from += pieceBytes) {
    const fault = inspection.inspect(disk.subarray(from, from + pieceBytes));
    if (fault !== undefined) return describeFault(fault);
  }
  return sentence(inspection.end());
}

function withMagic(at: number, magic: string, bytes = 4 * MB): Buffer {
  const disk = Buffer.alloc(bytes);
  disk.write(magic, at, "latin1");
  return disk;
}

/** A table whose chain of logical partitions has its second link after the first megabytes. */
function withChain(lastSectors: number): Buffer {
  const disk = Buffer.alloc(4 * MB);
  const entry = (sector: number, index: number, type: number, first: number, sectors: number): void => {
    const at = sector * 512 + 446 + index * 16;
    disk.writeUInt8(type, at + 4);
    disk.writeUInt32LE(first, at + 8);
    disk.writeUInt32LE(sectors, at + 12);
    disk.writeUInt16LE(0xaa55, sector * 512 + 510);
  };
  entry(0, 0, 0x05, 1, 8191);
  entry(1, 0, 0x83, 1, 10);
  entry(1, 1, 0x05, 6000, 2000);
  entry(6001, 0, 0x83, 1, lastSectors);
  return disk;
}

test.each([1000, 4096, 65_536, 100_001, 4 * MB])("the result is the same for a disk in pieces of %i", (bytes) => {
  expect(judge(Buffer.alloc(4 * MB), bytes)).toBeUndefined();
  expect(judge(withMagic(32_769, "CD001"), bytes)).toContain("an ISO 9660 image");
  expect(judge(withMagic(4 * MB - 512, "conectix"), bytes)).toContain("a VHD disk of fixed size");
  expect(judge(withMagic(4 * MB - 512, "conectix", 4 * MB + 512), bytes)).toBeUndefined();
  expect(judge(withChain(2190), bytes)).toBeUndefined();
  expect(judge(withChain(2191), bytes)).toContain("Partition 6 ends at sector 8193");
});

test("a foreign format is recognised by its beginning, before the rest arrives", () => {
  const inspection = createInspection();
  expect(sentence(inspection.inspect(withMagic(0, "QFI\xfb\0\0\0\x03", 64 * 1024)))).toContain(
    "qemu-img convert -O raw",
  );
});

test("a foreign format is recognised even if little follows", () => {
  expect(judge(Buffer.from("QFI\xfb", "latin1"), 1)).toContain("a qcow disk");
  expect(judge(Buffer.from("BZh9", "latin1"), 4)).toContain("no multiple of 512");
});
