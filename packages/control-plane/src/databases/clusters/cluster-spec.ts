import type { Cluster, Leader, Member } from "@moorage/contract/agent";
import { findHost, findNodes, type HostRow, type NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";
import { findLeader } from "./leaders/leader-store.ts";
import { highestTerm } from "./leaders/terms.ts";

/**
 * What one member may do once. Each is wanted by itself: a spec without it takes it back. `makes`: the data of its timeline,
 * from the archive.
 */
export type Orders = Pick<Cluster, "begin" | "renew" | "lead"> & { makes?: true };
/** By node. */
export type OrdersOf = Readonly<Record<string, Orders>>;

export const isCluster = ({ cluster_size }: Pick<DatabaseRow, "cluster_size">): boolean => cluster_size > 1;

/** Its leader is wanted, and not elected by its group. */
export const isAsynchronous = ({ replication_type }: Pick<DatabaseRow, "replication_type">): boolean =>
  replication_type === "asynch";

/**
 * What all nodes of a database are told of its cluster; its group is named by the timeline. A member or leader whose row we
 * lost is taken from what the others were told last.
 */
export async function clusterOf(tx: Tx, database: DatabaseRow, timeline: string, told?: Cluster): Promise<Cluster> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const known = nodes.flatMap(({ wanted }) => wanted?.cluster?.members ?? []);
  const members: Member[] = [];
  for (let ordinal = 0; ordinal < database.cluster_size; ordinal++) {
    const node = nodes.find((candidate) => candidate.ordinal === ordinal);
    const member =
      node === undefined
        ? [...(told?.members ?? []), ...known].find((candidate) => candidate.ordinal === ordinal)
        : memberOf(node, await findHost(tx, node.host_id));
    if (member === undefined) throw new Error(`Database ${database.id} has no member ${ordinal}.`);
    members.push(member);
  }
  const leader = isAsynchronous(database) ? { leader: await leaderWanted(tx, database, told) } : {};
  return { replication: replicationWanted(database), group: timeline, members, ...leader };
}

/** A host that knows a term obeys no lower one, so none is ever told. */
async function leaderWanted(tx: Tx, database: DatabaseRow, told: Cluster | undefined): Promise<Leader> {
  const leader = highestTerm([await findLeader(tx, database), told?.leader]);
  if (leader === undefined) throw new Error(`Database ${database.id} has no leader.`);
  return leader;
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
 * What the members of a new timeline are told first: the first of them begins the group, the others join it; where one
 * leads already, nobody begins. Data from the archive are made by that one alone, and the others take them from it. The
 * ids are the timeline's: each is used once on a node.
 */
export function firstOrders(
  [first, ...others]: readonly Pick<NodeRow, "id">[],
  timeline: { id: string; prepared: string | null },
  leader: Leader | undefined,
): OrdersOf {
  if (first === undefined) return {};
  const isFromArchive = timeline.prepared === null;
  const renewed = isFromArchive ? others : [];
  return {
    [first.id]: {
      ...(leader === undefined ? { begin: timeline.id } : {}),
      ...(isFromArchive ? { makes: true } : {}),
    },
    ...Object.fromEntries(renewed.map(({ id }) => [id, { renew: { id: timeline.id, donor: first.id } }])),
  };
}
