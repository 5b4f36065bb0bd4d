import type { MemberView } from "@moorage/contract/agent";
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { connect } from "../mysql/node-sql.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { type FollowingPacket, followingQuery, readFollowing } from "./sample-following.ts";

export const sampleEveryMs = 250;
/** Clients must not be forwarded to a slower server: its view would be too old when the next one arrives. */
const answerWithinMs = 1700;

/** `at`: when the server was queried, by the clock of this process. */
export type Sample = { at: number; view: Omit<MemberView, "ageMs"> };

type Row = RowDataPacket & {
  host: string | null;
  state: string | null;
  role: string | null;
  own: 0 | 1 | null;
  view: string | null;
  closed: 0 | 1;
  gtid: string;
  received: string | null;
  group_name: string | null;
};

// One statement: the group at nearly one moment. A server without a group returns a row too.
const memberQuery = `SELECT m.MEMBER_HOST AS host, m.MEMBER_STATE AS state, m.MEMBER_ROLE AS role,
  m.MEMBER_ID = @@server_uuid AS own,
  (SELECT s.VIEW_ID FROM performance_schema.replication_group_member_stats s WHERE s.MEMBER_ID = @@server_uuid) AS view,
  @@GLOBAL.super_read_only OR @@GLOBAL.offline_mode AS closed, @@GLOBAL.gtid_executed AS gtid,
  @@GLOBAL.group_replication_group_name AS group_name,
  (SELECT c.RECEIVED_TRANSACTION_SET FROM performance_schema.replication_connection_status c
    WHERE c.CHANNEL_NAME = 'group_replication_applier') AS received
  FROM (SELECT 1) AS one LEFT JOIN performance_schema.replication_group_members m ON TRUE`;

/** Queries the member's server periodically over one connection, so that it works on a server full of clients. */
export async function keepSampling(
  file: () => ClusterFile,
  take: (sample: Sample) => void,
  signal: AbortSignal,
): Promise<void> {
  let connection: Connection | undefined;
  while (!signal.aborted) {
    const at = performance.now();
    // Read before the query: the server's answer then belongs to this term or a later one.
    const known = file();
    const { node, socket } = known;
    try {
      connection ??= await open(socket);
      take({ at, view: { node, ...(await queryMember(connection, known)) } });
    } catch {
      connection?.destroy();
      connection = undefined;
      take({ at, view: awayView(known) });
    }
    const rest = Math.max(0, sampleEveryMs - (performance.now() - at));
    await sleep(rest, undefined, { signal }).catch(() => {});
  }
  connection?.destroy();
}

async function queryMember(connection: Connection, file: ClusterFile): Promise<Omit<Sample["view"], "node">> {
  const { primary } = file;
  if (primary === undefined) {
    const [rows] = await connection.query<Row[]>({ sql: memberQuery, timeout: answerWithinMs });
    return readView(rows, file.members);
  }
  const [rows] = await connection.query<FollowingPacket[]>({ sql: followingQuery, timeout: answerWithinMs });
  return readFollowing(rows, { ...file, primary });
}

/** The host knows the term even if the server is unreachable. */
export const awayView = ({ node, primary }: Pick<ClusterFile, "node" | "primary">): Sample["view"] => ({
  node,
  state: "away",
  online: [],
  writable: false,
  ...(primary && { term: primary.term }),
});

async function open(socket: string): Promise<Connection> {
  const connection = await connect(socket);
  // A connection that ends between two queries is noticed by the next one.
  connection.on("error", () => {});
  return connection;
}

const states: Record<string, MemberView["state"]> = {
  ONLINE: "online",
  RECOVERING: "recovering",
  OFFLINE: "offline",
};

/** Members are identified by the address that they report: a re-cloned one has a new server uuid. */
export function readView(
  rows: readonly Omit<Row, "constructor">[],
  members: ClusterFile["members"],
): Omit<MemberView, "node" | "ageMs"> {
  const nodeAt = (host: string | null): string | undefined => members.find(({ address }) => address === host)?.node;
  const own = rows.find((row) => row.own === 1);
  const primary = nodeAt(rows.find(({ role }) => role === "PRIMARY")?.host ?? null);
  const online = rows.filter(({ state }) => state === "ONLINE").flatMap(({ host }) => nodeAt(host) ?? []);
  const state = own === undefined ? "offline" : (states[own.state ?? ""] ?? "error");
  const role = own?.role === "PRIMARY" ? "primary" : own?.role === "SECONDARY" ? "secondary" : undefined;
  return {
    state,
    ...(role !== undefined && { role }),
    ...(own?.view && { view: own.view }),
    ...(primary !== undefined && { primary }),
    online,
    listed: rows.flatMap(({ host }) => nodeAt(host) ?? []),
    writable: rows[0]?.closed === 0,
    ...(rows[0]?.group_name && { group: rows[0].group_name }),
    ...(rows[0] !== undefined && { gtid: rows[0].gtid }),
    ...(rows[0]?.received && { received: rows[0].received }),
  };
}
