import { z } from "zod";

const Sha256 = z.hex().length(64);

/** Written last: a folder without it holds no disk. */
export const DiskManifest = z.object({
  format: z.literal(1),
  raw_bytes: z.int().positive(),
  raw_sha256: Sha256,
  /** Of the raw bytes, those in the chunks that are kept. */
  kept_bytes: z.int().nonnegative(),
  /** What the chunks take in the store. */
  stored_bytes: z.int().nonnegative(),
  /** In their order. `bytes` and `sha256` are of the object: zstd of the raw chunk. */
  chunks: z.array(z.object({ index: z.int().nonnegative(), bytes: z.int().positive(), sha256: Sha256 })),
});
export type DiskManifest = z.output<typeof DiskManifest>;
