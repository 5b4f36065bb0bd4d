import { type ImageSettings, MB } from "../settings.ts";

/** Tools that compress in blocks make a member of every 64 KB. */
const LEAST_MEMBER_BYTES = 32 * 1024;

/** What an upload may cost us. How far it was compressed is no bound: disks are mostly zeros. */
export type ImportBounds = {
  uploadBytes: number;
  rawBytes: number;
  /** Of the disk, what is in chunks that are not zeros throughout. */
  keptBytes: number;
  /** Of the gzip file. */
  members: number;
  /** The computing that the data may take. Beyond, they are refused. */
  cpuSeconds: number;
  /** By the clock, which runs for the store too: beyond, it is a fault of ours. */
  seconds: number;
  /** Of the process that reads the data. More is a fault of ours too. */
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

export const tooLarge = ({ uploadBytes }: ImportBounds): string =>
  `The upload is larger than ${uploadBytes} bytes, and none may be. Make the disk smaller, or fill what is unused on it with zeros before you compress it.`;
