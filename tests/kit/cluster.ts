import { join } from "node:path";
import type { DatabaseFailover } from "@moorage/contract";
import { peerPortOf } from "@moorage/contract/agent";
import { until } from "@moorage/testkit/until.ts";
import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../../packages/agent/src/mysql/node-sql.ts";
import { runStatement, type Door, doorOf, clientA } from "./client.ts";
import { hostDir } from "./host.ts";
import { query } from "./records.ts";
import type { Tenant } from "./tenant.ts";

/** A node of a cluster, and its addresses: for clients `address`, and those for its peers and its own host. */
export type Member = {
  node: string;
  ordinal: number;
  host: number;
  address: string;
  peerAddress: string;
  nodeAddress: string;
  peerPort: number;
  replication: Replication;
};
export type Replication = "semi_synch" | "asynch";

/** Stored, so that it can be used when the control plane is down. */
export type Cluster = { id: number; door: Door; members: Member[]; primary: Member };

/** The smallest type that a cluster may have. */
export const THREE_NODES = { cluster_size: 3, type: "m1-medium" };

export async function membersOf(id: number): Promise<Member[]> {
  const rows = await query<
    Record<"node" | "host" | "address" | "peer" | "own", string> &
      Record<"at" | "port", number> & { replication: Replication }
  >(
    `select n.id as node, n.ordinal as at, h.name as host, host(h.address) as address,
       host(coalesce(h.private_address, h.address)) as peer, n.desired_spec->'network'->>'address' as own, n.port,
       d.replication_type as replication
     from nodes n join hosts h on h.id = n.host_id join databases d on d.id = n.database_id
     where n.database_id = $1 and n.released_at is null and not n.tombstoned order by n.ordinal`,
    [id],
  );
  return rows.map(({ node, at, host, address, peer, own, port, replication }) => ({
    node,
    ordinal: at,
    host: Number(host.replace("host-", "")),
    address,
    peerAddress: peer,
    nodeAddress: own,
    peerPort: peerPortOf(port),
    replication,
  }));
}

export async function makeCluster(alice: Tenant, label: string, more: object = {}): Promise<Cluster> {
  const { id } = await alice.createSurely(label, 60, { ...THREE_NODES, ...more });
  await alice.untilStatus(id, "active", 180);
  return untilHealthy(alice, id, 60);
}

export const socketOf = ({ host, node }: Member): string => join(hostDir(host), "nodes", node, "run", "mysqld.sock");

/** Rows read from a member's server as its root user. */
export const rowsAt = <Row extends object>(member: Member, text: string, values: unknown[] = []): Promise<Row[]> =>
  withRoot(socketOf(member), async (connection) => {
    const [rows] = await connection.query<(Row & RowDataPacket)[]>({ sql: text, values, timeout: 60_000 });
    return rows;
  });

/**
 * What a member's server reports about its group or its source. A member that is cut off reports stale data: only what
 * two of them report counts. `online` exists only in a group: a primary alone does not know its replicas.
 */
export type OwnView = { view: string; primary: string; online?: number };

export const ownView = (member: Member): Promise<OwnView | undefined> =>
  (member.replication === "asynch" ? viewOfFollowing : viewOfGroup)(member).catch(() => undefined);

async function viewOfGroup(member: Member): Promise<OwnView | undefined> {
  const rows = await rowsAt<{ host: string; state: string; role: string; view: string | null }>(
    member,
    `select m.MEMBER_HOST as host, m.MEMBER_STATE as state, m.MEMBER_ROLE as role, s.VIEW_ID as view
     from performance_schema.replication_group_members m
     left join performance_schema.replication_group_member_stats s on s.MEMBER_ID = m.MEMBER_ID`,
  );
  const online = rows.filter(({ state }) => state === "ONLINE");
  const primary = online.find(({ role }) => role === "PRIMARY");
  if (primary === undefined || online.every(({ host }) => host !== member.peerAddress)) return undefined;
  return { view: primary.view ?? "", primary: primary.host, online: online.length };
}

/** It is writable and the primary; or it receives from a source and applies. */
async function viewOfFollowing(member: Member): Promise<OwnView | undefined> {
  const [own] = await rowsAt<{ closed: 0 | 1; source: string | null; receiving: string | null; applying: string }>(
    member,
    `select @@global.super_read_only as closed, c.HOST as source, r.SERVICE_STATE as receiving, a.SERVICE_STATE as applying
     from (select 1) as one
     left join performance_schema.replication_connection_configuration c on c.CHANNEL_NAME = ''
     left join performance_schema.replication_connection_status r on r.CHANNEL_NAME = ''
     left join performance_schema.replication_applier_status a on a.CHANNEL_NAME = ''`,
  );
  if (own?.closed === 0) return { view: "", primary: member.peerAddress };
  const follows = own?.receiving === "ON" && own.applying === "ON";
  return follows && own.source ? { view: "", primary: own.source } : undefined;
}

/**
 * The primary that at least two members report in the same view. Read from the servers, not from proxies or the control
 * plane.
 */
export async function agreedPrimary(members: readonly Member[]): Promise<Member | undefined> {
  const views = (await Promise.all(members.map(ownView))).filter((view) => view !== undefined);
  const [most] = Object.values(Object.groupBy(views, ({ view, primary }) => `${view} ${primary}`))
    .filter((group) => group !== undefined)
    .sort((one, other) => other.length - one.length);
  if (most === undefined || most.length < 2) return undefined;
  return members.find(({ peerAddress }) => peerAddress === most[0]?.primary);
}

/** Three members in one view with one primary, and every proxy forwards to it. */
async function healthyPrimary(members: readonly Member[], door: Door): Promise<Member | false> {
  const views = await Promise.all(members.map(ownView));
  const texts = views.map((view) => JSON.stringify(view));
  if (members.length !== 3 || (views[0]?.online ?? 3) !== 3 || new Set(texts).size !== 1) return false;
  const primary = members.find(({ peerAddress }) => peerAddress === views[0]?.primary);
  const [own] = await rowsAt<{ uuid: string }>(primary as Member, "select @@server_uuid as uuid");
  for (const { address } of members) if ((await serverBehindProxy(door, address)) !== own?.uuid) return false;
  return primary ?? false;
}

/** The uuid of the server that a proxy forwards to. */
export const serverBehindProxy = (door: Door, address: string): Promise<string> =>
  runStatement(clientA(), door, "select @@server_uuid", { host: address, tls: ["--ssl-mode=REQUIRED"], seconds: 60 });

/** Reads everything again, because members may have been replaced. The control plane must report `active` too. */
export async function untilHealthy(alice: Tenant, id: number, seconds: number): Promise<Cluster> {
  const door = await doorOf(alice, id);
  let members = await membersOf(id);
  const primary = await until(`database ${id} has three healthy members`, seconds, async () => {
    members = await membersOf(id);
    const found = await healthyPrimary(members, door);
    return found !== false && (await alice.view(id)).body.status === "active" && found;
  });
  return { id, door, members, primary };
}

export const othersThan = (member: Member, members: readonly Member[]): Member[] =>
  members.filter(({ node }) => node !== member.node);

/** The node that should be the primary of an asynchronous cluster. */
export const desiredPrimaryOf = async (id: number): Promise<string | undefined> =>
  (await query<{ node_id: string }>("select node_id from primary_terms where database_id = $1", [id]))[0]?.node_id;

/**
 * Promotes a replica while the primary is unreachable. The first request does not accept a loss; it is refused, and the
 * answer says what would be lost.
 */
export async function promotedByTenant(alice: Tenant, id: number, old: Member): Promise<void> {
  await until("the primary was silent for so long that its tenant may promote another", 120, async () => {
    const { status, body } = await alice.act(id, "promote", {});
    if (status !== 400) throw new Error(`a promotion that accepts no loss answered ${status}`);
    return JSON.stringify(body).includes("accept_loss");
  });
  if ((await desiredPrimaryOf(id)) !== old.node) throw new Error("somebody was promoted without a word");
  const { status, body } = await alice.act(id, "promote", { accept_loss: true });
  if (status !== 200) throw new Error(`the promotion answered ${status}: ${JSON.stringify(body)}`);
}

/** Changes of the primary as the tenant sees them, the newest first. */
export async function receiptsOf(alice: Tenant, id: number): Promise<DatabaseFailover[]> {
  const path = `/v4/databases/mysql/instances/${id}/failovers`;
  return (await alice.call<{ data: DatabaseFailover[] }>("GET", path)).body.data;
}

/** The newest change of the primary after this moment as the tenant sees it, once its loss is known. */
export const untilReceipt = (alice: Tenant, id: number, after: number): Promise<DatabaseFailover> =>
  until(`a change of the primary of ${id} is reported`, 60, async () => {
    // Event times are whole seconds.
    const newest = (await receiptsOf(alice, id)).find(({ created }) => Date.parse(`${created}Z`) >= after - 1000);
    return newest?.transactions_lost !== null && newest;
  });
