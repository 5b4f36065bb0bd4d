/** A disk is stored in chunks of this size, each compressed separately; chunks of zeros are left out. */
export const CHUNK_BYTES = 8 * 1024 * 1024;
export const SECTOR_BYTES = 512;

export const MANIFEST = "manifest.json";
export const chunkName = (index: number): string => `chunk-${String(index).padStart(6, "0")}`;

/** The last chunk may be shorter. */
export const rawLengthOf = (rawBytes: number, index: number): number =>
  Math.min(CHUNK_BYTES, rawBytes - index * CHUNK_BYTES);
