import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import type { Cluster, NodeSpec } from "@moorage/contract/agent";
import { type HostPaths, nodePaths } from "../base/host-paths.ts";
import { mountedFile } from "./mounts.ts";
import type { NodeContext } from "./node-context.ts";
import { timelineRecord } from "../specs/node-state.ts";
import { exists } from "./volume.ts";

export const ordinalOf = ({ data }: Pick<NodeSpec, "data">): number => data?.ordinal ?? 0;

const volumeName = /^([0-9a-f-]{36})(?:\.(\d+))?\.img$/;

/** The node and ordinal of a file in `volumes`; undefined if the file is not a volume. */
export function ownerOfVolume(file: string): { node: string; ordinal: number } | undefined {
  const [, node, ordinal] = volumeName.exec(basename(file)) ?? [];
  return node === undefined ? undefined : { node, ordinal: Number(ordinal ?? 0) };
}

/** The ordinals of all volumes that the host has of a node, in ascending order. */
export async function volumesOf(host: HostPaths, node: string): Promise<number[]> {
  const owned = (await readdir(host.volumes)).flatMap((file) => ownerOfVolume(file) ?? []);
  return owned
    .filter((owner) => owner.node === node)
    .map(({ ordinal }) => ordinal)
    .sort((a, b) => a - b);
}

/** Timelines that are neither desired nor kept. */
export const discardedOrdinals = ({ data }: Pick<NodeSpec, "data">, volumes: readonly number[]): number[] =>
  volumes.filter((ordinal) => ordinal !== ordinalOf({ data }) && ordinal !== data?.keep);

/** Read from the kernel: the timeline on which the node's server runs, or would run if it were started now. */
export async function mountedOrdinal(host: HostPaths, node: string): Promise<number | undefined> {
  const file = await mountedFile(nodePaths(host, node).volume);
  return file === undefined ? undefined : ownerOfVolume(file)?.ordinal;
}

/** The desired data come from the archive and are not on the host yet. A former member re-clones instead. */
export const isToBeMade = async ({ spec, paths }: Pick<NodeContext, "spec" | "paths">): Promise<boolean> =>
  spec.tombstone === undefined &&
  spec.data?.origin === "archive" &&
  !(await exists(paths.image)) &&
  (await timelineRecord(paths)).group === undefined;

/** The spec by which the node serves while its desired data are being restored; undefined when it has no other data. */
export async function specMeanwhile({ host, spec }: Pick<NodeContext, "host" | "spec">): Promise<NodeSpec | undefined> {
  const there = await volumesOf(host, spec.node);
  const ordinal = (await mountedOrdinal(host, spec.node)) ?? spec.data?.keep;
  if (ordinal === undefined || !there.includes(ordinal)) return undefined;
  const { data: _, ...withoutData } = spec;
  const { id, group } = await timelineRecord(nodePaths(host, spec.node, ordinal));
  const rest = {
    ...withoutData,
    ...(spec.cluster && group !== undefined && { cluster: clusterBefore(spec.cluster, group) }),
  };
  // The origin of its data no longer matters: they exist.
  if (id !== undefined) return { ...rest, data: { timeline: id, ordinal, origin: "prepared" } };
  return ordinal === 0 ? rest : undefined;
}

/** Each timeline has a group of its own; one-time orders belong to the desired timeline's group. */
const clusterBefore = ({ replication, members, members_version, primary }: Cluster, group: string): Cluster => ({
  replication,
  group,
  members,
  members_version,
  // The primary belongs to the database, not to a timeline.
  ...(primary && { primary }),
});
