import type { Cluster, Member } from "@moorage/contract/agent";
import { findHost, findNodes, type HostRow, type NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";

/** What one member may do once. Each is wanted by itself: a spec without it takes it back. */
export type Orders = Pick<Cluster, "begin" | "renew" | "lead">;
/** By node. */
export type OrdersOf = Readonly<Record<string, Orders>>;

export const isCluster = ({ cluster_size }: Pick<DatabaseRow, "cluster_size">): boolean => cluster_size > 1;

/**
 * What all nodes of a database are told of its cluster; its group is named by the timeline. A member whose row we lost is
 * taken from what the others were told last.
 */
export async function clusterOf(
  tx: Tx,
  database: DatabaseRow,
  timeline: string,
  told: readonly Member[] = [],
): Promise<Cluster> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const known = nodes.flatMap(({ wanted }) => wanted?.cluster?.members ?? []);
  const members: Member[] = [];
  for (let ordinal = 0; ordinal < database.cluster_size; ordinal++) {
    const node = nodes.find((candidate) => candidate.ordinal === ordinal);
    const member =
      node === undefined
        ? [...told, ...known].find((candidate) => candidate.ordinal === ordinal)
        : memberOf(node, await findHost(tx, node.host_id));
    if (member === undefined) throw new Error(`Database ${database.id} has no member ${ordinal}.`);
    members.push(member);
  }
  return { replication: replicationWanted(database), group: timeline, members };
}

export const memberOf = (node: Pick<NodeRow, "id" | "ordinal">, host: HostRow): Member => ({
  node: node.id,
  ordinal: node.ordinal,
  host: `host-${host.id}`,
  address: host.private_address ?? host.address,
});

function replicationWanted({ id, replication_type }: DatabaseRow): Cluster["replication"] {
  if (replication_type === "none") throw new Error(`Database ${id} has several nodes and no replication.`);
  return replication_type;
}

/**
 * What the members of a new timeline are told first: one begins the group, the others join it. Data from the archive are
 * made by that one alone, and the others take them from it. The ids are the timeline's: each is used once on a node.
 */
export function firstOrders(
  nodes: readonly Pick<NodeRow, "id" | "ordinal">[],
  timeline: { id: string; prepared: string | null },
): OrdersOf {
  const [first, ...others] = [...nodes].sort((a, b) => a.ordinal - b.ordinal);
  if (first === undefined) return {};
  const renewed = timeline.prepared === null ? others : [];
  return {
    [first.id]: { begin: timeline.id },
    ...Object.fromEntries(renewed.map(({ id }) => [id, { renew: { id: timeline.id, donor: first.id } }])),
  };
}
