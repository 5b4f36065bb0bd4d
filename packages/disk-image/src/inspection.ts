import { SECTOR_BYTES } from "./chunks.ts";
import type { DiskFault } from "./disk-fault.ts";
import { FORMAT_BYTES, foreignEnd, foreignFormat } from "./foreign-formats.ts";
import { readGuidTable } from "./guid-partition-table.ts";
import { createLogicalChain, type LogicalChain } from "./logical-chain.ts";
import { beyondEnd, type Partition, readPartitionTable } from "./partition-table.ts";

export { foreignFormat } from "./foreign-formats.ts";

export type Inspection = {
  /** Takes the next bytes of the disk. Returns why it is no raw disk, as soon as that is known. */
  inspect: (raw: Buffer) => DiskFault | undefined;
  end: () => DiskFault | undefined;
};

/** Partition tables are in the first MB, unless their entries were moved slightly. */
const HEAD_BYTES = 2 * 1024 * 1024;

/** Checks a disk as a stream, and keeps only its beginning. */
export function createInspection(): Inspection {
  const head = Buffer.alloc(HEAD_BYTES);
  const tail = createTail();
  let seen = 0;
  let formatIsKnown = false;
  let chain: LogicalChain | undefined;

  const judgeFormat = (): DiskFault | undefined => {
    formatIsKnown = true;
    const foreign = foreignFormat(head.subarray(0, seen));
    return foreign === undefined ? undefined : refuseForeign(foreign);
  };
  const judgePartitions = (): DiskFault | undefined => {
    const known = head.subarray(0, seen);
    const table = readPartitionTable(known.subarray(0, SECTOR_BYTES));
    if (table === undefined) return undefined;
    const partitions: Partition[] = [...table.partitions, ...(chain?.partitions ?? [])];
    if (table.isProtective) {
      const guid = readGuidTable(known);
      if ("fault" in guid) return guid.fault;
      partitions.push(...guid.partitions);
    }
    return beyondEnd(partitions, seen) ?? chain?.fault;
  };

  return {
    inspect(raw) {
      if (seen < HEAD_BYTES) raw.copy(head, seen);
      if (chain === undefined && seen + raw.length >= SECTOR_BYTES) {
        const extended = readPartitionTable(head.subarray(0, SECTOR_BYTES))?.extended;
        chain = createLogicalChain(extended);
        if (seen > 0) chain.inspect(head.subarray(0, seen), 0);
      }
      chain?.inspect(raw, seen);
      seen += raw.length;
      tail.inspect(raw);
      return !formatIsKnown && seen >= FORMAT_BYTES ? judgeFormat() : undefined;
    },
    end() {
      const foreign = formatIsKnown ? undefined : judgeFormat();
      if (foreign !== undefined) return foreign;
      if (seen === 0) return { problem: "empty" };
      const atEnd = foreignEnd(tail.sector());
      if (atEnd !== undefined) return refuseForeign(atEnd);
      if (seen % SECTOR_BYTES !== 0) return { problem: "part_of_sector", value: seen };
      return judgePartitions();
    },
  };
}

const refuseForeign = (format: string): DiskFault => ({ problem: "other_format", format });

/** Keeps the last sector of the stream. */
function createTail(): { inspect: (raw: Buffer) => void; sector: () => Buffer } {
  let kept = Buffer.alloc(0);
  return {
    inspect(raw) {
      if (raw.length >= SECTOR_BYTES) kept = Buffer.from(raw.subarray(raw.length - SECTOR_BYTES));
      else kept = Buffer.concat([kept, raw]).subarray(-SECTOR_BYTES);
    },
    sector: () => kept,
  };
}
