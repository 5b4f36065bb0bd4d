import { ArchivedCopy, ArchivedLog, SavedErrantTransactions } from "@moorage/contract/agent";
import { z } from "zod";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import type { NodePaths } from "../base/host-paths.ts";

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

/** When the last verification ran, with which versions, and its result. */
const LastVerification = z.object({ at: z.string(), ok: z.boolean(), image: z.string(), agent: z.string() });
export type LastVerification = z.output<typeof LastVerification>;

/** One-time orders that a member has used, by their ids in the spec. Recorded before the act (`recloned` after it). */
const UsedIds = z.object({
  bootstrapped: z.uuid().optional(),
  /** The start of the server that was to bootstrap: see `serverStart`. */
  bootstrapped_by: z.string().optional(),
  recloning: z.uuid().optional(),
  recloned: z.uuid().optional(),
  made_primary: z.uuid().optional(),
  /** Asynchronous cluster: the last term in which the member was opened and, until it is stopped, the boot id. */
  opened: z.object({ term: z.int(), boot: z.string().optional() }).optional(),
  /** The last term in which it was primary and that was reported as ended: it does not become primary in it again. */
  fenced: z.int().optional(),
  /** The term whose primary it follows, after it was found to have no errant transactions. */
  followed: z.int().optional(),
});
export type UsedIds = z.output<typeof UsedIds>;

/** What was done to a node and cannot be observed from outside. */
const NodeRecord = z.object({
  /** For the first timeline. */
  credentials_version: z.int().default(0),
  /** By ordinal. Each timeline has its own accounts, as old as its data until the password is set again. */
  timelines: z
    .record(
      z.string(),
      z.object({
        id: z.uuid().optional(),
        credentials_version: z.int().optional(),
        /** SHA-256 of the encryption keys of which the control plane has a copy. */
        keyring_sent: z.string().optional(),
        /** Verification of its newest restore point. */
        verified: LastVerification.optional(),
        /** For a member: the group that its data were prepared for. */
        group: z.uuid().optional(),
        used: UsedIds.optional(),
        /** The transactions that only this member had (`errant`), and what of them is in the object store. */
        errant_transactions: z.object({ errant: z.string(), saved: SavedErrantTransactions }).optional(),
      }),
    )
    .default({}),
  /** `used` is the fingerprint of the certificate that the server loaded last. */
  certificate: z.object({ version: z.int(), used: z.string().optional() }).optional(),
  /** The last spec that the node reached. */
  reached: z.object({ epoch: z.int(), generation: z.int() }).optional(),
  archive: ArchiveState.optional(),
});
type NodeRecord = z.output<typeof NodeRecord>;

export const readNodeRecord = async (paths: NodePaths): Promise<NodeRecord> =>
  NodeRecord.parse(JSON.parse((await readIfThere(paths.state)) ?? "{}"));

const lastWrites = new Map<string, Promise<void>>();

/** Writes one after the other: a run of the node, its archive and a restore may all update the record. */
export function updateNodeRecord(
  paths: NodePaths,
  change: Partial<NodeRecord> | ((before: NodeRecord) => Partial<NodeRecord>),
): Promise<void> {
  const written = (lastWrites.get(paths.state) ?? Promise.resolve()).then(async () => {
    const before = await readNodeRecord(paths);
    const after = { ...before, ...(typeof change === "function" ? change(before) : change) };
    await writeDurably(paths.state, JSON.stringify(after));
  });
  lastWrites.set(
    paths.state,
    written.catch(() => {}),
  );
  return written;
}

type Timeline = NodeRecord["timelines"][string];

export const timelineRecord = async (paths: NodePaths): Promise<Timeline> =>
  (await readNodeRecord(paths)).timelines[paths.ordinal] ?? {};

export const updateTimeline = (paths: NodePaths, change: Timeline): Promise<void> =>
  updateNodeRecord(paths, ({ timelines }) => ({
    timelines: { ...timelines, [paths.ordinal]: { ...timelines[paths.ordinal], ...change } },
  }));

export const usedIds = async (paths: NodePaths): Promise<UsedIds> => (await timelineRecord(paths)).used ?? {};

export const recordUsed = (paths: NodePaths, used: UsedIds): Promise<void> =>
  updateNodeRecord(paths, ({ timelines }) => {
    const own = timelines[paths.ordinal];
    return { timelines: { ...timelines, [paths.ordinal]: { ...own, used: { ...own?.used, ...used } } } };
  });

/** Before a server is stopped: on whichever timeline it runs, this stop must not look like a crash. */
export async function forgetOpening(paths: NodePaths): Promise<void> {
  const isOpened = ({ used }: Timeline): boolean => used?.opened?.boot !== undefined;
  const closed = (timeline: Timeline): Timeline => {
    const { used } = timeline;
    return used?.opened === undefined
      ? timeline
      : { ...timeline, used: { ...used, opened: { term: used.opened.term } } };
  };
  if (!Object.values((await readNodeRecord(paths)).timelines).some(isOpened)) return;
  await updateNodeRecord(paths, ({ timelines }) => ({
    timelines: Object.fromEntries(Object.entries(timelines).map(([ordinal, each]) => [ordinal, closed(each)])),
  }));
}

/** The control plane keeps only the keys that it received last: a timeline that is desired again resends its own. */
export const recordKeyringSent = (paths: NodePaths, fingerprint: string): Promise<void> =>
  updateNodeRecord(paths, ({ timelines }) => {
    const others = Object.entries(timelines).map(([ordinal, { keyring_sent: _, ...rest }]) => [ordinal, rest] as const);
    const own = { ...timelines[paths.ordinal], keyring_sent: fingerprint };
    return { timelines: { ...Object.fromEntries(others), [paths.ordinal]: own } };
  });

export async function appliedCredentials(paths: NodePaths): Promise<number> {
  const { credentials_version, timelines } = await readNodeRecord(paths);
  return timelines[paths.ordinal]?.credentials_version ?? (paths.ordinal === 0 ? credentials_version : 0);
}

export const recordCredentials = (paths: NodePaths, version: number): Promise<void> =>
  updateTimeline(paths, { credentials_version: version });
