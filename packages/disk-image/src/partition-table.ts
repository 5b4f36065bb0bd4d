import { SECTOR_BYTES } from "./chunks.ts";
import type { DiskFault } from "./disk-fault.ts";

/** In sectors. Numbered as common tools do. */
export type Partition = { number: number; first: number; sectors: number };
export type PartitionTable = {
  partitions: readonly Partition[];
  /** Where the chain of logical partitions begins. */
  extended?: { first: number; sectors: number };
  isProtective: boolean;
};

type Entry = { status: number; type: number; first: number; sectors: number };

const [ENTRIES, ENTRY_BYTES] = [446, 16];
const PROTECTIVE = 0xee;
const EXTENDED = [0x05, 0x0f, 0x85];

/**
 * The table in the first sector, if there is one. A filesystem without a partition table can have the same signature
 * there, but its boot code rarely looks like four entries whose first byte is 0 or 0x80.
 */
export function readPartitionTable(sector: Buffer): PartitionTable | undefined {
  const entries = entriesOf(sector);
  if (entries?.every(({ status }) => status === 0 || status === 0x80) !== true) return undefined;
  const used = entries.flatMap((entry, index) => (isUsed(entry) ? [{ ...entry, number: index + 1 }] : []));
  const extended = used.find(({ type }) => EXTENDED.includes(type));
  return {
    partitions: used
      .filter(({ type }) => type !== PROTECTIVE)
      .map(({ number, first, sectors }) => ({ number, first, sectors })),
    ...(extended === undefined ? {} : { extended: { first: extended.first, sectors: extended.sectors } }),
    isProtective: entries.some(({ type }) => type === PROTECTIVE),
  };
}

/** A link of the chain: one logical partition and the next link, whose offsets have different bases. */
export function readChainLink(
  sector: Buffer,
  { at, extended, number }: { at: number; extended: number; number: number },
): { partition?: Partition; next?: number } {
  const entries = (entriesOf(sector) ?? []).slice(0, 2).filter(isUsed);
  const logical = entries.find(({ type }) => !EXTENDED.includes(type));
  const next = entries.find(({ type }) => EXTENDED.includes(type));
  return {
    ...(logical === undefined ? {} : { partition: { number, first: at + logical.first, sectors: logical.sectors } }),
    ...(next === undefined ? {} : { next: extended + next.first }),
  };
}

export function beyondEnd(partitions: readonly Partition[], diskBytes: number): DiskFault | undefined {
  const sectors = diskBytes / SECTOR_BYTES;
  const lost = partitions.find((each) => each.first + each.sectors > sectors);
  if (lost === undefined) return undefined;
  return { problem: "partition_beyond_end", partition: lost.number, end: lost.first + lost.sectors, sectors };
}

function entriesOf(sector: Buffer): Entry[] | undefined {
  if (sector.length < SECTOR_BYTES || sector.readUInt16LE(SECTOR_BYTES - 2) !== 0xaa55) return undefined;
  return [0, 1, 2, 3].map((index) => {
    const from = ENTRIES + index * ENTRY_BYTES;
    return {
      status: sector.readUInt8(from),
      type: sector.readUInt8(from + 4),
      first: sector.readUInt32LE(from + 8),
      sectors: sector.readUInt32LE(from + 12),
    };
  });
}

const isUsed = ({ type, sectors }: Entry): boolean => type !== 0 && sectors > 0;
