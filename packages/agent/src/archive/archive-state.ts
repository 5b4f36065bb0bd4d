import { ArchivedCopy, ArchivedLog } from "@moorage/contract/agent";
import { z } from "zod";

const Ended = z.object({ state: z.enum(["done", "failed"]), message: z.string().optional() });

/** In an asynchronous cluster, objects of an earlier term may hold transactions lost since; they are never reported. */
const ofTerm = { term: z.int().optional() };

/**
 * What the host knows to be in the object store of a node's timeline. `unreported` objects are uploaded and recorded
 * here before they are reported: a reported object is never uploaded again, because its SHA-256 would differ.
 */
export const ArchiveState = z.object({
  timeline: z.uuid(),
  /** When this host began to archive the timeline. */
  since: z.string(),
  /** The number of the last binary log that is in the store. */
  shipped: z.int().nonnegative().default(0),
  /** Reported and acknowledged. */
  through: z.string().optional(),
  /** The last copies that the gateway acknowledged. */
  reported_copies: z.array(z.uuid()).default([]),
  newest_copy: z.string().optional(),
  /** An unfinished nightly copy: a retry overwrites the objects that it left. */
  copying: z.uuid().optional(),
  unreported: z
    .object({ copies: z.array(ArchivedCopy.extend(ofTerm)), logs: z.array(ArchivedLog.extend(ofTerm)) })
    .default({ copies: [], logs: [] }),
  /** Finished tasks of the spec, by id. */
  tasks: z.record(z.string(), Ended).default({}),
});
export type ArchiveState = z.output<typeof ArchiveState>;
export type EndedTask = z.output<typeof Ended>;
