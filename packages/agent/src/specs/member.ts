import { type Cluster, type Member, type NodeSpec, peerPortOf } from "@moorage/contract/agent";

/** A node of a cluster of three, as seen by its own host. */
export type OwnMember = { cluster: Cluster; own: Member; others: Member[]; peerPort: number };

/** Undefined for a single node, and for a member that was replaced and is to be removed. */
export function ownMember({
  node,
  cluster,
  network,
  tombstone,
}: Pick<NodeSpec, "node" | "cluster" | "network" | "tombstone">): OwnMember | undefined {
  if (cluster === undefined) return undefined;
  const own = cluster.members.find((member) => member.node === node);
  if (own === undefined && tombstone !== undefined) return undefined;
  if (own === undefined) throw new Error("The node is not a member of its own cluster.");
  const others = cluster.members.filter((member) => member !== own);
  return { cluster, own, others, peerPort: peerPortOf(network.port) };
}

/** Whether members replicate from an appointed primary; otherwise they are a group. */
export const isAsynchronous = (cluster: Pick<Cluster, "replication"> | undefined): boolean =>
  cluster?.replication === "asynch";
