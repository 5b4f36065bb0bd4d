import { crc32 } from "node:zlib";
import { SECTOR_BYTES } from "./chunks.ts";
import type { DiskFault } from "./disk-fault.ts";
import type { Partition } from "./partition-table.ts";

export type GuidTable = { partitions: readonly Partition[] } | { fault: DiskFault };

const SIGNATURE = Buffer.from("EFI PART");
const [LEAST_HEADER, LEAST_ENTRY, MOST_ENTRY, MOST_ENTRIES] = [92, 128, 4096, 4096];
const damaged = (fault: DiskFault): GuidTable => ({ fault });

/** `head` is the beginning of the disk, as far as it was kept. */
export function readGuidTable(head: Buffer): GuidTable {
  const header = head.subarray(SECTOR_BYTES, 2 * SECTOR_BYTES);
  if (!header.subarray(0, 8).equals(SIGNATURE)) {
    const isOfLargeSectors = head.subarray(4096, 4104).equals(SIGNATURE);
    return damaged({ problem: isOfLargeSectors ? "sectors_of_4096" : "guid_table_missing" });
  }
  const size = header.readUInt32LE(12);
  if (size < LEAST_HEADER || size > SECTOR_BYTES) return damaged({ problem: "guid_header_bytes", value: size });
  if (crc32(withoutSum(header.subarray(0, size))) !== header.readUInt32LE(16))
    return damaged({ problem: "guid_header_checksum" });
  if (header.readBigUInt64LE(24) !== 1n) return damaged({ problem: "guid_header_elsewhere" });

  const first = header.readBigUInt64LE(72);
  const [count, entryBytes] = [header.readUInt32LE(80), header.readUInt32LE(84)];
  if (entryBytes < LEAST_ENTRY || entryBytes > MOST_ENTRY || entryBytes % LEAST_ENTRY !== 0)
    return damaged({ problem: "guid_entry_bytes", value: entryBytes });
  if (count > MOST_ENTRIES) return damaged({ problem: "guid_entry_count", value: count });
  if (first < 2n || first * BigInt(SECTOR_BYTES) + BigInt(count * entryBytes) > BigInt(head.length))
    return damaged({ problem: "guid_entries_at", value: Number(first) });
  const from = Number(first) * SECTOR_BYTES;
  const entries = head.subarray(from, from + count * entryBytes);
  if (crc32(entries) !== header.readUInt32LE(88)) return damaged({ problem: "guid_entries_checksum" });
  return partitionsOf(entries, entryBytes);
}

function partitionsOf(entries: Buffer, entryBytes: number): GuidTable {
  const partitions: Partition[] = [];
  for (let index = 0; index * entryBytes < entries.length; index++) {
    const entry = entries.subarray(index * entryBytes, (index + 1) * entryBytes);
    if (entry.subarray(0, 16).every((byte) => byte === 0)) continue;
    // A value beyond the safe integers is beyond every disk too.
    const [first, last] = [Number(entry.readBigUInt64LE(32)), Number(entry.readBigUInt64LE(40))];
    if (last < first) return damaged({ problem: "guid_partition_reversed", value: index + 1 });
    partitions.push({ number: index + 1, first, sectors: last - first + 1 });
  }
  return { partitions };
}

/** The checksum is computed with zeros in its own field. */
function withoutSum(header: Buffer): Buffer {
  const copy = Buffer.from(header);
  copy.writeUInt32LE(0, 16);
  return copy;
}
