import { z } from "zod";

/**
 * What a base copy is in the object store: `tar | zstd | age`, cut into parts of this length (the last one shorter). The
 * parts, joined in their order, are one age file.
 */
export const partBytes = 8 * 1024 * 1024;

/** What the tar of a base copy has in it, at its top. `keyring` only if the manifest says `encrypted`. */
export const copyContents = { data: "data", fixedConfig: "fixed.cnf", keyring: "keyring" } as const;

/** Uploaded last: a copy without it is not one. In clear, because it tells nothing of the tenant's data. */
export const Manifest = z.object({
  version: z.literal(1),
  id: z.uuid(),
  timeline: z.uuid(),
  /** At least this is in the copy; what it has beyond is skipped by its GTID when the logs are applied. */
  gtid: z.string(),
  started_at: z.string(),
  ended_at: z.string(),
  engine: z.object({ name: z.string(), version: z.string() }),
  encrypted: z.boolean(),
  parts: z.array(z.object({ bytes: z.int().positive(), sha256: z.hex().length(64) })).min(1),
});
export type Manifest = z.output<typeof Manifest>;

export const manifestName = (id: string): string => `copies/${id}/manifest.json`;
/** Parts are counted from 1. */
export const partName = (id: string, number: number): string => `copies/${id}/part-${String(number).padStart(6, "0")}`;

/** A closed binary log: the text of `mysqlbinlog`, `| zstd | age`. */
export const logName = (file: string): string => `logs/${file}`;

/** What a former leader alone had: the text of those transactions, as of a log. */
export const lostTransactionsName = (term: number, mark: string): string => `lost/${term}.${mark}`;
