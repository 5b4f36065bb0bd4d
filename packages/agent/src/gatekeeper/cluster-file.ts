import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Member, type NodeSpec } from "@moorage/contract/agent";
import { z } from "zod";
import { readIfThere, removeDurably, writeDurably } from "../durable-file.ts";
import { type HostPaths, nodePaths } from "../host-paths.ts";

/** What the gatekeeper is told of a member of this host. It asks nobody else: it works while the agent does not. */
export const ClusterFile = z.object({
  node: z.uuid(),
  group: z.uuid(),
  /** Where the member's server is asked. */
  socket: z.string(),
  members: z.array(Member),
  /** Of an asynchronous cluster: a group elects its own. */
  primary: z.object({ node: z.uuid(), term: z.int() }).optional(),
  /** The database's own; those of peers and readers go with it. */
  port: z.int(),
});
export type ClusterFile = z.output<typeof ClusterFile>;

const fileOf = (host: HostPaths, node: string): string => join(host.gatekeeper.clusters, `${node}.json`);

function desiredFile(host: HostPaths, { node, cluster, network }: NodeSpec): ClusterFile | undefined {
  if (cluster === undefined) return undefined;
  const { group, members, primary } = cluster;
  const socket = nodePaths(host, node).socket;
  const withPrimary = primary && { primary: { node: primary.node, term: primary.term } };
  return { node, group, socket, members, ...withPrimary, port: network.port };
}

/** Nothing, for a node that is no member. */
export async function writeClusterFile(host: HostPaths, spec: NodeSpec): Promise<void> {
  const file = desiredFile(host, spec);
  if (file !== undefined && !(await isClusterFileCurrent(host, spec)))
    await writeDurably(fileOf(host, spec.node), JSON.stringify(file));
}

export async function isClusterFileCurrent(host: HostPaths, spec: NodeSpec): Promise<boolean> {
  const desired = desiredFile(host, spec);
  return desired === undefined || isDeepStrictEqual(await readClusterFile(fileOf(host, spec.node)), desired);
}

export const removeClusterFile = (host: HostPaths, node: string): Promise<void> => removeDurably(fileOf(host, node));

/** Undefined if there is none, or it cannot be read: it is written whole, so that is somebody's hand. */
async function readClusterFile(path: string): Promise<ClusterFile | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return ClusterFile.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export async function readClusterFiles(host: HostPaths): Promise<ClusterFile[]> {
  const names = await readdir(host.gatekeeper.clusters).catch(() => []);
  const files = names.filter((name) => name.endsWith(".json"));
  const read = await Promise.all(files.map((name) => readClusterFile(join(host.gatekeeper.clusters, name))));
  return read.filter((file) => file !== undefined);
}
