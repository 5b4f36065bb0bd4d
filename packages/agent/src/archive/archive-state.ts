import { ArchivedCopy, ArchivedLog } from "@moorage/contract/agent";
import { z } from "zod";

const Ended = z.object({ state: z.enum(["done", "failed"]), message: z.string().optional() });

/** Of an asynchronous cluster: what was made in an earlier term may have what was lost since, and is never told. */
const ofTerm = { term: z.int().optional() };

/**
 * What of a node's timeline is in the object store, as far as its host knows. `untold` is in the store and written down
 * here before it is told: whatever was told once is never uploaded again, because its SHA-256 would be another one.
 */
export const ArchiveState = z.object({
  timeline: z.uuid(),
  /** When this host began with the timeline. */
  since: z.string(),
  /** The number of the last binary log that is in the store. */
  shipped: z.int().nonnegative().default(0),
  /** Told and acknowledged. */
  through: z.string().optional(),
  /** The last copies that the gateway acknowledged. */
  reported_copies: z.array(z.uuid()).default([]),
  newest_copy: z.string().optional(),
  /** A nightly copy that was begun: tried again, it writes over what it had left. */
  copying: z.uuid().optional(),
  unreported: z
    .object({ copies: z.array(ArchivedCopy.extend(ofTerm)), logs: z.array(ArchivedLog.extend(ofTerm)) })
    .default({ copies: [], logs: [] }),
  /** The jobs of the spec that have ended, by their id. */
  tasks: z.record(z.string(), Ended).default({}),
});
export type ArchiveState = z.output<typeof ArchiveState>;
export type EndedTask = z.output<typeof Ended>;
