export { CHUNK_BYTES, chunkName, MANIFEST, rawLengthOf, SECTOR_BYTES } from "./chunks.ts";
export { createCutter, type CutChunk, type Cutter, MOST_STORED_BYTES } from "./cutter.ts";
export { createInspection, type Inspection } from "./inspection.ts";
export { DiskManifest } from "./manifest.ts";
export { release, releaseIfWhole } from "./release.ts";
export { unpackChunk } from "./unpack-chunk.ts";
