import { SECTOR_BYTES } from "./chunks.ts";
import type { DiskFault } from "./disk-fault.ts";
import { type Partition, readChainLink } from "./partition-table.ts";

export type LogicalChain = {
  readonly partitions: readonly Partition[];
  readonly fault: DiskFault | undefined;
  /** Bytes of the disk with their offset, in ascending order. */
  inspect: (raw: Buffer, offset: number) => void;
};

/** More than any tool creates. */
const MOST_LINKS = 1024;

/**
 * Logical partitions are a chain of sectors across the disk, which is followed while the disk is streamed. So each link
 * must come after the one before it, as all tools write them.
 */
export function createLogicalChain(extended: { first: number; sectors: number } | undefined): LogicalChain {
  const partitions: Partition[] = [];
  const sector = Buffer.alloc(SECTOR_BYTES);
  let fault: DiskFault | undefined;
  let link = extended?.first;
  let [links, filled] = [0, 0];

  const follow = (at: number): void => {
    const start = extended?.first ?? 0;
    const { partition, next } = readChainLink(sector, { at, extended: start, number: 5 + links++ });
    if (partition !== undefined) partitions.push(partition);
    [link, filled] = [next, 0];
    if (next === undefined) return;
    if (next > at && links < MOST_LINKS) return;
    link = undefined;
    fault = { problem: "chain_turns_back", value: at };
  };

  return {
    partitions,
    get fault() {
      return fault;
    },
    inspect(raw, offset) {
      while (link !== undefined) {
        const from = link * SECTOR_BYTES + filled - offset;
        if (from < 0 || from >= raw.length) return;
        filled += raw.copy(sector, filled, from, from + SECTOR_BYTES - filled);
        if (filled < SECTOR_BYTES) return;
        follow(link);
      }
    },
  };
}
