import { SECTOR_BYTES } from "./chunks.ts";
import type { DiskFault } from "./disk-fault.ts";
import { remedyOf } from "./foreign-formats.ts";

const guid = (what: string): string =>
  `The partition table (GPT) is damaged: ${what}. Repair it with "gdisk" or "parted" where the disk is in use, and make the image again.`;

/** The sentence for the person who made the disk. */
export function describeFault(fault: DiskFault): string {
  switch (fault.problem) {
    case "empty":
      return "The gzip data holds nothing: an empty file was compressed. Upload a raw disk.";
    case "other_format":
      return `What was compressed is ${fault.format}, and only raw disks are taken. ${remedyOf(fault.format)}`;
    case "part_of_sector":
      return `The disk has ${fault.value} bytes, which is no multiple of ${SECTOR_BYTES}: a raw disk consists of whole sectors of ${SECTOR_BYTES} bytes.`;
    case "partition_beyond_end":
      return `Partition ${fault.partition} ends at sector ${fault.end}, and the disk has only ${fault.sectors} sectors: it was cut short. Make the image from the whole disk.`;
    case "chain_turns_back":
      return `The chain of logical partitions turns back at sector ${fault.value}. Put it in order with the command "f" among the expert commands of "fdisk", and make the image again.`;
    case "sectors_of_4096":
      return "The disk has sectors of 4096 bytes. Only disks with sectors of 512 bytes are taken.";
    case "guid_table_missing":
      return guid("its first sector announces one, and the second does not hold it");
    case "guid_header_bytes":
      return guid(`its header claims a size of ${fault.value} bytes`);
    case "guid_header_checksum":
      return guid("the checksum of its header is wrong");
    case "guid_header_elsewhere":
      return guid("its header claims to be in another sector");
    case "guid_entry_bytes":
      return guid(`its header claims entries of ${fault.value} bytes`);
    case "guid_entry_count":
      return guid(`its header claims ${fault.value} entries`);
    case "guid_entries_at":
      return guid(`its header claims that the entries begin at sector ${fault.value}`);
    case "guid_entries_checksum":
      return guid("the checksum of its entries is wrong");
    case "guid_partition_reversed":
      return guid(`partition ${fault.value} ends before it begins`);
  }
}
