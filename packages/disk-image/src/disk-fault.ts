/** Why something is no raw disk that can be taken: a code, with numbers and the names of known formats alone. */
export type DiskFault =
  | { problem: (typeof plainProblems)[number] }
  | { problem: (typeof numberedProblems)[number]; value: number }
  | { problem: "other_format"; format: string }
  | { problem: "partition_beyond_end"; partition: number; end: number; sectors: number };

export const plainProblems = [
  "empty",
  "sectors_of_4096",
  "guid_table_missing",
  "guid_header_checksum",
  "guid_header_elsewhere",
  "guid_entries_checksum",
] as const;
/** In this order: sector, sector, bytes, bytes, bytes, entries, partition. */
export const numberedProblems = [
  "chain_turns_back",
  "guid_entries_at",
  "part_of_sector",
  "guid_header_bytes",
  "guid_entry_bytes",
  "guid_entry_count",
  "guid_partition_reversed",
] as const;
