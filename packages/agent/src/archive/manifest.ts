import { z } from "zod";

/**
 * A base copy in the object store is `tar | zstd | age`, cut into parts of this length (the last one shorter). The
 * parts, joined in order, are one age file.
 */
export const partBytes = 8 * 1024 * 1024;

/** The top-level entries in the tar of a base copy. `keyring` only if the manifest says `encrypted`. */
export const copyContents = { data: "data", fixedConfig: "fixed.cnf", keyring: "keyring" } as const;

/** Uploaded last: a copy without a manifest is incomplete. Not encrypted: it reveals nothing of the tenant's data. */
export const Manifest = z.object({
  version: z.literal(1),
  id: z.uuid(),
  timeline: z.uuid(),
  /** The copy has at least these transactions. Replaying the logs skips any more that it has, by GTID. */
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

/** A closed binary log: `mysqlbinlog | zstd | age`. */
export const logName = (file: string): string => `logs/${file}`;

/** Transactions that only a former primary had: the text of `mysqlbinlog`, sealed like a log. */
export const lostTransactionsName = (term: number, mark: string): string => `lost/${term}.${mark}`;
