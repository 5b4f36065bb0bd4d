import { type Cluster, type Member, type NodeSpec, peerPortOf } from "@moorage/contract/agent";

/** A node of a database of three, as its own host sees it. */
export type OwnMember = { cluster: Cluster; own: Member; others: Member[]; peerPort: number };

/** Undefined: it is a database of one node, or another took its place and it is to go. */
export function ownMember({
  node,
  cluster,
  network,
  tombstone,
}: Pick<NodeSpec, "node" | "cluster" | "network" | "tombstone">): OwnMember | undefined {
  if (cluster === undefined) return undefined;
  const own = cluster.members.find((member) => member.node === node);
  if (own === undefined && tombstone !== undefined) return undefined;
  if (own === undefined) throw new Error("The node is not among the members of its own cluster.");
  const others = cluster.members.filter((member) => member !== own);
  return { cluster, own, others, peerPort: peerPortOf(network.port) };
}
