import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Member, type NodeSpec } from "@moorage/contract/agent";
import { z } from "zod";
import { readIfThere, removeDurably, writeDurably } from "../base/durable-file.ts";
import { type HostPaths, nodePaths } from "../base/host-paths.ts";

/** What the gatekeeper needs to know of a member of this host. Its only source: it works while the agent does not. */
export const ClusterFile = z.object({
  node: z.uuid(),
  group: z.uuid(),
  /** Socket of the member's server. */
  socket: z.string(),
  members: z.array(Member),
  /** Only for an asynchronous cluster: a group elects its own primary. */
  primary: z.object({ node: z.uuid(), term: z.int() }).optional(),
  /** The database's port; the ports for peers and readers are derived from it. */
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

/** Does nothing for a node that is not a member. */
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

/** Undefined if it is missing or unreadable: the agent writes it atomically, so somebody has edited it by hand. */
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
