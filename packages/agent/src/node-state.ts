import { SavedErrantTransactions } from "@moorage/contract/agent";
import { z } from "zod";
import { ArchiveState } from "./archive/archive-state.ts";
import { readIfThere, writeDurably } from "./durable-file.ts";
import type { NodePaths } from "./host-paths.ts";
import { LastVerification } from "./restore/due-verification.ts";

/** What a member did once, by the ids of its spec. Written before it is done, except `renewed`. */
const UsedIds = z.object({
  bootstrapped: z.uuid().optional(),
  /** The start of the server that was to begin: see `server-start.ts`. */
  bootstrapped_by: z.string().optional(),
  recloning: z.uuid().optional(),
  recloned: z.uuid().optional(),
  made_primary: z.uuid().optional(),
  /** Of an asynchronous cluster: the term in which it was opened last, and, until it is stopped, the boot. */
  opened: z.object({ term: z.int(), boot: z.string().optional() }).optional(),
  /** The last term that it led in and whose end was told: it does not lead in it again. */
  fenced: z.int().optional(),
  /** The term whose leader it was found to have nothing beyond, and follows since. */
  followed: z.int().optional(),
});
export type UsedIds = z.output<typeof UsedIds>;

/** What was done to a node and cannot be seen from outside. */
const NodeRecord = z.object({
  /** Of the first timeline. */
  credentials_version: z.int().default(0),
  /** By ordinal. Each timeline has accounts of its own, as old as its data until the password is set again. */
  timelines: z
    .record(
      z.string(),
      z.object({
        id: z.uuid().optional(),
        credentials_version: z.int().optional(),
        /** SHA-256 of the encryption keys that the control plane has a copy of. */
        keyring_sent: z.string().optional(),
        /** Of its newest restore point. */
        verified: LastVerification.optional(),
        /** Of a member: the group that its data were made ready for. */
        group: z.uuid().optional(),
        used: UsedIds.optional(),
        /** The transactions that it alone had (`errant`) and what of them is in the object store. */
        errant_transactions: z.object({ errant: z.string(), saved: SavedErrantTransactions }).optional(),
      }),
    )
    .default({}),
  /** `used` is the fingerprint of what the server was told to load last. */
  certificate: z.object({ version: z.int(), used: z.string().optional() }).optional(),
  /** The last spec that the node was as wanted by. */
  reached: z.object({ epoch: z.int(), generation: z.int() }).optional(),
  archive: ArchiveState.optional(),
});
type NodeRecord = z.output<typeof NodeRecord>;

export const readNodeRecord = async (paths: NodePaths): Promise<NodeRecord> =>
  NodeRecord.parse(JSON.parse((await readIfThere(paths.state)) ?? "{}"));

const lastWrites = new Map<string, Promise<void>>();

/** One after the other: a run of the node, its archive and the making of its next data may all have something to say. */
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

/** Before a server is stopped: whatever timeline it lives on, it does not end by itself. */
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

/** The control plane keeps the keys that it was told last: a timeline that is wanted again has to tell its own again. */
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
