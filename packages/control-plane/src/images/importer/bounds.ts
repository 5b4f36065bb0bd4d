import type { ImageSettings } from "../model/settings.ts";
import { MB } from "../model/units.ts";

/** Tools that compress in blocks write one member per 64 KB. */
const LEAST_MEMBER_BYTES = 32 * 1024;

/** The resources that an upload may use. The compression ratio is unbounded: disks are mostly zeros. */
export type ImportBounds = {
  uploadBytes: number;
  rawBytes: number;
  /** Bytes of the disk in chunks that are not all zeros. */
  keptBytes: number;
  /** Members of the gzip file. */
  members: number;
  /** CPU time. An upload that needs more is refused. */
  cpuSeconds: number;
  /** Elapsed time, which includes waiting for the store: exceeding it is a fault of this installation. */
  seconds: number;
  /** Memory of the process that reads the data. Exceeding it is a fault of this installation too. */
  memoryBytes: number;
};

export const importBoundsOf = (settings: ImageSettings): ImportBounds => ({
  uploadBytes: settings.uploadBytes,
  rawBytes: settings.rawMb * MB,
  keptBytes: settings.contentMb * MB,
  members: Math.ceil((settings.rawMb * MB) / LEAST_MEMBER_BYTES),
  cpuSeconds: 1800,
  seconds: settings.importDeadlineSeconds,
  memoryBytes: 200 * MB,
});
