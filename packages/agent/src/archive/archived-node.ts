import type { NodeSpec } from "@moorage/contract/agent";
import { type HostPaths, type NodePaths, nodePaths } from "../base/host-paths.ts";
import { mountedFile } from "../node/mounts.ts";
import { ArchiveState, readNodeRecord, updateNodeRecord } from "../specs/node-state.ts";

/** A node with an archive. `data.timeline` is the desired timeline. */
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

/** One member of a cluster ships the logs and nightly copies; any member can run a task. */
export const isArchiver = ({ archive }: Pick<ArchivedNode, "archive">): boolean => archive.archiver !== false;

export const isMember = ({ spec }: Pick<ArchivedNode, "spec">): boolean => spec.cluster !== undefined;

/** False while the server still runs on the previous timeline: its logs must not get into the new one's archive. */
export const isOnItsTimeline = async ({ paths }: ArchivedNode): Promise<boolean> =>
  (await mountedFile(paths.volume)) === paths.image;

/** Why work begun for `before` must stop, if it must. Logs are still shipped while a node is being powered off. */
export function overtaken(
  before: ArchivedNode,
  now: ArchivedNode | undefined,
  work: "logs" | "heavy",
): string | undefined {
  if (now === undefined) return "The database is being deleted.";
  if (now.spec.power === "off" && work === "heavy") return "The database is being suspended.";
  if (now.data.timeline !== before.data.timeline) return "The database continues on another timeline.";
  if (work === "logs" && !isArchiver(now)) return "Another member is the archiver.";
  return undefined;
}

export async function readArchiveState({ paths, data: { timeline } }: ArchivedNode, now: Date): Promise<ArchiveState> {
  return stateOf(timeline, (await readNodeRecord(paths)).archive, now);
}

/** Like readArchiveState, but also persists `since`: a node without writes must be copied too. */
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

// Tasks belong to the node and are dropped with the spec that requests them; all else belongs to one timeline.
const stateOf = (timeline: string, known: ArchiveState | undefined, now: Date): ArchiveState =>
  known?.timeline === timeline
    ? known
    : ArchiveState.parse({ timeline, since: now.toISOString(), ...(known && { tasks: known.tasks }) });
