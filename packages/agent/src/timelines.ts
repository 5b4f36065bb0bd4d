import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import type { Cluster, NodeSpec } from "@moorage/contract/agent";
import { type HostPaths, nodePaths } from "./host-paths.ts";
import { mountedFile } from "./mounts.ts";
import type { NodeContext } from "./node-context.ts";
import { timelineRecord } from "./node-state.ts";
import { exists } from "./volume.ts";

export const ordinalOf = ({ data }: Pick<NodeSpec, "data">): number => data?.ordinal ?? 0;

const volumeName = /^([0-9a-f-]{36})(?:\.(\d+))?\.img$/;

/** Whose volume a file of `volumes` is; undefined for a file that is not one. */
export function ownerOfVolume(file: string): { node: string; ordinal: number } | undefined {
  const [, node, ordinal] = volumeName.exec(basename(file)) ?? [];
  return node === undefined ? undefined : { node, ordinal: Number(ordinal ?? 0) };
}

/** The ordinals of all volumes that the host has of a node, in their order. */
export async function volumesOf(host: HostPaths, node: string): Promise<number[]> {
  const owned = (await readdir(host.volumes)).flatMap((file) => ownerOfVolume(file) ?? []);
  return owned
    .filter((owner) => owner.node === node)
    .map(({ ordinal }) => ordinal)
    .sort((a, b) => a - b);
}

/** Those that are neither wanted nor kept. */
export const discardedOrdinals = ({ data }: Pick<NodeSpec, "data">, volumes: readonly number[]): number[] =>
  volumes.filter((ordinal) => ordinal !== ordinalOf({ data }) && ordinal !== data?.keep);

/** Asked of the kernel: the timeline that a server of this node lives on, or would if it were started now. */
export async function mountedOrdinal(host: HostPaths, node: string): Promise<number | undefined> {
  const file = await mountedFile(nodePaths(host, node).volume);
  return file === undefined ? undefined : ownerOfVolume(file)?.ordinal;
}

/** The wanted data come from the archive, and are not on the host yet. Those of a member came back from its group. */
export const isToBeMade = async ({ spec, paths }: NodeContext): Promise<boolean> =>
  spec.tombstone === undefined &&
  spec.data?.origin === "archive" &&
  !(await exists(paths.image)) &&
  (await timelineRecord(paths)).group === undefined;

/** The spec by which the node serves on while its wanted data are being made; undefined when it has no others. */
export async function specMeanwhile({ host, spec }: NodeContext): Promise<NodeSpec | undefined> {
  const there = await volumesOf(host, spec.node);
  const ordinal = (await mountedOrdinal(host, spec.node)) ?? spec.data?.keep;
  if (ordinal === undefined || !there.includes(ordinal)) return undefined;
  const { data: _, ...withoutData } = spec;
  const { id, group } = await timelineRecord(nodePaths(host, spec.node, ordinal));
  const rest = {
    ...withoutData,
    ...(spec.cluster && group !== undefined && { cluster: clusterBefore(spec.cluster, group) }),
  };
  // Where its data came from no longer matters: they are there.
  if (id !== undefined) return { ...rest, data: { timeline: id, ordinal, origin: "prepared" } };
  return ordinal === 0 ? rest : undefined;
}

/** Each timeline has a group of its own, and what is to be done once is to be done in the wanted one. */
const clusterBefore = ({ replication, members, primary }: Cluster, group: string): Cluster => ({
  ...{ replication, group, members },
  // Who leads is not of a timeline, but of the database.
  ...(primary && { primary }),
});
