import type { Cluster, Member, PrimaryTerm } from "@moorage/contract/agent";
import { findHost, findNodes, type HostRow, type NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { isAsynchronous } from "../model/database.ts";
import { findPrimary, highestTerm } from "./primary-store.ts";

/**
 * What one member may do once. A spec without the order withdraws it. `makes`: the member restores the data of its
 * timeline from the archive.
 */
export type Orders = Pick<Cluster, "bootstrap" | "stay_out" | "reclone" | "make_primary"> & { makes?: true };
/** By node. */
export type OrdersOf = Readonly<Record<string, Orders>>;

/**
 * The cluster part of all specs; the timeline's id is the name of the group. A member or primary whose row is lost is
 * taken from the other members' specs.
 */
export async function clusterOf(
  tx: Tx,
  database: DatabaseRow,
  timeline: string,
  reportedCluster?: Cluster,
): Promise<Cluster> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const lists = [reportedCluster, ...nodes.map(({ desired_spec }) => desired_spec?.cluster)];
  const known = latestMembers(lists)?.members ?? [];
  const members: Member[] = [];
  for (let ordinal = 0; ordinal < database.cluster_size; ordinal++) {
    const node = nodes.find((candidate) => candidate.ordinal === ordinal);
    const member =
      node === undefined
        ? known.find((candidate) => candidate.ordinal === ordinal)
        : memberOf(node, await findHost(tx, node.host_id));
    if (member === undefined) throw new Error(`Database ${database.id} has no member ${ordinal}.`);
    members.push(member);
  }
  const primary = isAsynchronous(database) ? { primary: await desiredPrimary(tx, database, reportedCluster) } : {};
  const members_version = (await membersVersion(tx, database)) ?? reportedCluster?.members_version ?? 0;
  return { replication: desiredReplication(database), group: timeline, members, members_version, ...primary };
}

/** The list with the highest number; of several, the first. Pure. */
export const latestMembers = (lists: readonly (Cluster | undefined)[]): Cluster | undefined =>
  lists.reduce(
    (latest, list) =>
      latest === undefined || (list !== undefined && list.members_version > latest.members_version) ? list : latest,
    undefined,
  );

/** Undefined: the row is lost. */
export async function membersVersion(
  tx: Tx,
  { account_id, id }: Pick<DatabaseRow, "account_id" | "id">,
): Promise<number | undefined> {
  const row = await tx
    .selectFrom("clusters")
    .select("members_version")
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .executeTakeFirst();
  return row?.members_version;
}

/** A host that knows a term obeys no lower one, so a lower one is never sent. */
async function desiredPrimary(
  tx: Tx,
  database: DatabaseRow,
  reportedCluster: Cluster | undefined,
): Promise<PrimaryTerm> {
  const primary = highestTerm([await findPrimary(tx, database), reportedCluster?.primary]);
  if (primary === undefined) throw new Error(`Database ${database.id} has no primary.`);
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
 * The first orders on a new timeline: the first member bootstraps the group, and the others join it; with an assigned
 * primary nobody bootstraps. Only the first member restores data from the archive; the others clone from it. The
 * orders' ids are the timeline's: each is used once on a node.
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
