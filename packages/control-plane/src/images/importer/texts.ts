import { defineTexts, text } from "@moorage/contract/texts";
import { describeFault, type DiskFault, remedyOf } from "@moorage/disk-image";
import type { InflateFault } from "./inflate-faults.ts";

/** Refusals of uploaded data, of which the confined process gives the code and the arguments (refusal.ts). */
export const texts = defineTexts("image", {
  uploadAboveLimit: text(
    ({ maxBytes }: { maxBytes: number }) =>
      `The upload is larger than ${maxBytes} bytes, the limit of an upload. Make the disk smaller, or fill its unused space with zeros before you compress it.`,
    { maxBytes: 5_000_000_000 },
  ),
  uploadEmpty: text(() => "The upload is empty. Upload a raw disk that was compressed with gzip."),
  uploadOfOtherFormat: text(
    ({ format }: { format: string }) => `The upload is not gzip data: it is ${format}. ${remedyOf(format)}`,
    { format: "a qcow2 disk" },
  ),
  uploadNotGzip: text(
    ({ first }: { first: string }) =>
      `The upload is not gzip data: it begins with ${first}, while gzip data begins with 1f 8b. Compress the raw disk with gzip, and upload the result.`,
    { first: "00 00 00 00" },
  ),
  uploadHasTrailingData: text(
    ({ position }: { position: number }) =>
      `The gzip data ends at byte ${position}, and other data follows. Upload the gzip file without anything appended to it.`,
    { position: 104_857 },
  ),
  uploadCpuLimit: text(
    ({ seconds }: { seconds: number }) =>
      `The data takes more than ${seconds} seconds of CPU time to unpack. Compress the raw disk again with gzip, or make the disk smaller.`,
    { seconds: 1800 },
  ),

  gzipMemberLimit: text(
    ({ max }: { max: number }) =>
      `The gzip data has more than ${max} members. Compress the raw disk with "gzip", which writes a single member.`,
    { max: 196_608 },
  ),
  gzipTruncated: text<[{ at: "header" | "trailer" | number }]>(
    ({ at }) =>
      `The gzip data ends too early, ${at === "header" ? "in a header" : at === "trailer" ? "in its last bytes" : `after ${at} bytes`}: the file was truncated. Upload the complete file.`,
    { at: 104_857 },
  ),
  gzipDamaged: text(
    ({ position, fault }: { position: number; fault: InflateFault }) =>
      `The gzip data is damaged near byte ${position} (${fault}). Compress the raw disk again.`,
    { position: 104_857, fault: "invalid block type" },
  ),
  gzipChecksumWrong: text(
    ({ start }: { start: number }) =>
      `The checksum of the gzip data that begins at byte ${start} is wrong: the data was damaged. Upload the file again, or compress the raw disk again.`,
    { start: 0 },
  ),
  gzipLengthWrong: text(
    ({ start, bytes }: { start: number; bytes: number }) =>
      `The gzip data that begins at byte ${start} holds ${bytes} bytes, but its trailer states another length. Compress the raw disk again.`,
    { start: 0, bytes: 1_048_576 },
  ),
  gzipHeaderUnsupported: text(
    ({ start }: { start: number }) =>
      `The gzip header at byte ${start} has a method or flags that no tool writes. Compress the raw disk again.`,
    { start: 0 },
  ),
  gzipHeaderChecksumWrong: text(
    ({ start }: { start: number }) =>
      `The checksum of the gzip header at byte ${start} is wrong: the file was damaged. Upload the file again.`,
    { start: 0 },
  ),
  gzipHeaderTooLong: text(
    ({ start, maxBytes }: { start: number; maxBytes: number }) =>
      `The gzip header at byte ${start} has a name or comment of more than ${maxBytes} bytes. Compress the raw disk again.`,
    { start: 0, maxBytes: 32_768 },
  ),

  diskTooLarge: text(
    ({ maxMb }: { maxMb: number }) =>
      `The disk is larger than ${maxMb} MB, the limit of an image. Make the disk smaller.`,
    { maxMb: 6144 },
  ),
  diskContentLimit: text(
    ({ maxMb }: { maxMb: number }) =>
      `The disk holds more than ${maxMb} MB that are not zeros. Delete files, and fill the unused space with zeros.`,
    { maxMb: 6144 },
  ),
  /** A fault that the inspection found: partitions and sizes that contradict each other, another format inside. */
  diskUnusable: text((fault: DiskFault) => describeFault(fault), { problem: "part_of_sector", value: 511 }),
});
