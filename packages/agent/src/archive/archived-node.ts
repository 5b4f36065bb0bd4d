import type { NodeSpec } from "@moorage/contract/agent";
import { type HostPaths, type NodePaths, nodePaths } from "../host-paths.ts";
import { mountedFile } from "../mounts.ts";
import { readNodeRecord, updateNodeRecord } from "../node-state.ts";
import { ArchiveState } from "./archive-state.ts";

/** A node whose past is kept. The timeline is the one that is wanted of it. */
export type ArchivedNode = {
  spec: NodeSpec;
  archive: NonNullable<NodeSpec["archive"]>;
  data: NonNullable<NodeSpec["data"]>;
  paths: NodePaths;
};

export function archivedNode(host: HostPaths, spec: NodeSpec | undefined): ArchivedNode | undefined {
  if (spec?.archive === undefined || spec.data === undefined || spec.tombstone) return undefined;
  const { archive, data } = spec;
  return { spec, archive, data, paths: nodePaths(host, spec.node, data.ordinal) };
}

/** Of a cluster one member's logs and nightly copies are its past; what jobs ask for can come from any. */
export const isArchiver = ({ archive }: Pick<ArchivedNode, "archive">): boolean => archive.archiver !== false;

export const isMember = ({ spec }: Pick<ArchivedNode, "spec">): boolean => spec.cluster !== undefined;

/** False while the server still runs on the timeline before: its past is over, and must not get into the new one's. */
export const isOnItsTimeline = async ({ paths }: ArchivedNode): Promise<boolean> =>
  (await mountedFile(paths.volume)) === paths.image;

/** Why work for a node that was `before` must not go on, if so. The last logs go while the server is to stop. */
export function overtaken(
  before: ArchivedNode,
  now: ArchivedNode | undefined,
  work: "logs" | "heavy",
): string | undefined {
  if (now === undefined) return "The database is to go.";
  if (now.spec.power === "off" && work === "heavy") return "The database is to rest.";
  if (now.data.timeline !== before.data.timeline) return "The database is to go on from another past.";
  if (work === "logs" && !isArchiver(now)) return "Another member keeps the archive.";
  return undefined;
}

export async function readArchiveState({ paths, data: { timeline } }: ArchivedNode, now: Date): Promise<ArchiveState> {
  return stateOf(timeline, (await readNodeRecord(paths)).archive, now);
}

/** The same, and from now on it is on the disk since when: a node that writes nothing is to be copied too. */
export async function beginArchive(node: ArchivedNode, now: Date): Promise<ArchiveState> {
  if ((await readNodeRecord(node.paths)).archive?.timeline !== node.data.timeline)
    await updateArchiveState(node, now, () => ({}));
  return readArchiveState(node, now);
}

export const updateArchiveState = (
  { paths, data: { timeline } }: ArchivedNode,
  now: Date,
  change: (before: ArchiveState) => Partial<ArchiveState>,
): Promise<void> =>
  updateNodeRecord(paths, ({ archive }) => {
    const before = stateOf(timeline, archive, now);
    return { archive: { ...before, ...change(before) } };
  });

// Jobs are the node's, and end with the spec that asks for them; all else belongs to one timeline.
const stateOf = (timeline: string, known: ArchiveState | undefined, now: Date): ArchiveState =>
  known?.timeline === timeline
    ? known
    : ArchiveState.parse({ timeline, since: now.toISOString(), ...(known && { tasks: known.tasks }) });
