import type { Cluster, PrimaryTerm, Member } from "@moorage/contract/agent";
import { findHost, findNodes, type HostRow, type NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../database-store.ts";
import { findPrimary } from "./async-primary/primary-store.ts";
import { highestTerm } from "./async-primary/terms.ts";

/**
 * What one member may do once. Each is wanted by itself: a spec without it takes it back. `makes`: the data of its timeline,
 * from the archive.
 */
export type Orders = Pick<Cluster, "bootstrap" | "reclone" | "make_primary"> & { makes?: true };
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
export async function clusterOf(
  tx: Tx,
  database: DatabaseRow,
  timeline: string,
  reportedCluster?: Cluster,
): Promise<Cluster> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const known = nodes.flatMap(({ desired_spec }) => desired_spec?.cluster?.members ?? []);
  const members: Member[] = [];
  for (let ordinal = 0; ordinal < database.cluster_size; ordinal++) {
    const node = nodes.find((candidate) => candidate.ordinal === ordinal);
    const member =
      node === undefined
        ? [...(reportedCluster?.members ?? []), ...known].find((candidate) => candidate.ordinal === ordinal)
        : memberOf(node, await findHost(tx, node.host_id));
    if (member === undefined) throw new Error(`Database ${database.id} has no member ${ordinal}.`);
    members.push(member);
  }
  const primary = isAsynchronous(database) ? { primary: await desiredPrimary(tx, database, reportedCluster) } : {};
  return { replication: desiredReplication(database), group: timeline, members, ...primary };
}

/** A host that knows a term obeys no lower one, so none is ever told. */
async function desiredPrimary(
  tx: Tx,
  database: DatabaseRow,
  reportedCluster: Cluster | undefined,
): Promise<PrimaryTerm> {
  const primary = highestTerm([await findPrimary(tx, database), reportedCluster?.primary]);
  if (primary === undefined) throw new Error(`Database ${database.id} has no leader.`);
  return primary;
}

export const memberOf = (node: Pick<NodeRow, "id" | "ordinal">, host: HostRow): Member => ({
  node: node.id,
  ordinal: node.ordinal,
  host: `host-${host.id}`,
  address: host.private_address ?? host.address,
});

function desiredReplication({ id, replication_type }: DatabaseRow): Cluster["replication"] {
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
  primary: PrimaryTerm | undefined,
): OrdersOf {
  if (first === undefined) return {};
  const isFromArchive = timeline.prepared === null;
  const recloned = isFromArchive ? others : [];
  return {
    [first.id]: {
      ...(primary === undefined ? { bootstrap: timeline.id } : {}),
      ...(isFromArchive ? { makes: true } : {}),
    },
    ...Object.fromEntries(recloned.map(({ id }) => [id, { reclone: { id: timeline.id, donor: first.id } }])),
  };
}
