import { z } from "zod";

const Sha256 = z.hex().length(64);

/** Written last: a folder without a manifest holds no disk. */
export const DiskManifest = z.object({
  format: z.literal(1),
  raw_bytes: z.int().positive(),
  raw_sha256: Sha256,
  /** Raw bytes in the chunks that are stored. */
  kept_bytes: z.int().nonnegative(),
  /** Bytes that the chunks take in the object store. */
  stored_bytes: z.int().nonnegative(),
  /** In ascending order. `bytes` and `sha256` are of the object: the raw chunk compressed with zstd. */
  chunks: z.array(z.object({ index: z.int().nonnegative(), bytes: z.int().positive(), sha256: Sha256 })),
});
export type DiskManifest = z.output<typeof DiskManifest>;
