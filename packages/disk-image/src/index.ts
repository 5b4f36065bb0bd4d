export { CHUNK_BYTES, chunkName, MANIFEST, rawLengthOf, SECTOR_BYTES } from "./chunks.ts";
export { createCutter, type CutChunk, type Cutter, MOST_STORED_BYTES } from "./cutter.ts";
export { describeFault } from "./describe-fault.ts";
export { type DiskFault, numberedProblems, plainProblems } from "./disk-fault.ts";
export { formatNames, remedyOf } from "./foreign-formats.ts";
export { DiskManifest } from "./manifest.ts";
export { release, releaseIfWhole } from "./release.ts";
export { unpackChunk } from "./unpack-chunk.ts";
