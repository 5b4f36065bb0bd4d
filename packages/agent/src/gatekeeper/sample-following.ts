import { type MemberView, serverUuidOf } from "@moorage/contract/agent";
import type { RowDataPacket } from "mysql2/promise";
import type { ClusterFile } from "./cluster-file.ts";

type Switch = "ON" | "OFF" | "CONNECTING" | null;
export type FollowingRow = {
  uuid: string;
  closed: 0 | 1;
  gtid: string;
  received: string | null;
  source: string | null;
  receiving: Switch;
  applying: Switch;
  /** One row for each replica that is connected, or a single row without one. */
  follower: string | null;
};
type AsyncClusterFile = Pick<ClusterFile, "node" | "group" | "members"> & {
  primary: NonNullable<ClusterFile["primary"]>;
};
export type FollowingPacket = RowDataPacket & FollowingRow;

// `closed` before `gtid`: the transactions of a server that is already closed are final.
export const followingQuery = `SELECT @@server_uuid AS uuid,
  @@GLOBAL.super_read_only OR @@GLOBAL.offline_mode AS closed, @@GLOBAL.gtid_executed AS gtid,
  c.RECEIVED_TRANSACTION_SET AS received, s.HOST AS source, c.SERVICE_STATE AS receiving, a.SERVICE_STATE AS applying,
  t.PROCESSLIST_HOST AS follower
  FROM (SELECT 1) AS one
  LEFT JOIN performance_schema.replication_connection_configuration s ON s.CHANNEL_NAME = ''
  LEFT JOIN performance_schema.replication_connection_status c ON c.CHANNEL_NAME = ''
  LEFT JOIN performance_schema.replication_applier_status a ON a.CHANNEL_NAME = ''
  LEFT JOIN performance_schema.threads t ON t.PROCESSLIST_COMMAND = 'Binlog Dump GTID'`;

/**
 * Reports a member of an asynchronous cluster in the form of a group member. The view is the timeline and the term, so
 * that members of different terms never share a view.
 */
export function readFollowing(
  rows: readonly FollowingRow[],
  file: AsyncClusterFile,
): Omit<MemberView, "node" | "ageMs"> {
  const [row] = rows;
  if (row === undefined) throw new Error("The server returned no row about its replication state.");
  const isOfTimeline = row.uuid === serverUuidOf(file.group, markOf(row.uuid));
  return {
    ...(isOfTimeline ? placeOf(row, rows, file) : { state: "offline", online: [] }),
    writable: row.closed === 0,
    // A server of an earlier timeline is identified by its server uuid, which begins with that timeline.
    group: isOfTimeline ? file.group : row.uuid,
    gtid: row.gtid,
    ...(row.received && { received: row.received }),
    term: file.primary.term,
  };
}

const markOf = (uuid: string): string => uuid.slice("xxxxxxxx-xxxx-xxxx-".length).replaceAll("-", "");

type Place = Pick<MemberView, "state" | "role" | "view" | "primary" | "online">;

function placeOf(
  { closed, source, receiving, applying }: FollowingRow,
  rows: readonly FollowingRow[],
  { node, group, members, primary }: AsyncClusterFile,
): Place {
  const nodeAt = (host: string | null): string | undefined => members.find(({ address }) => address === host)?.node;
  const [view, primaryNode] = [viewOf(group, primary.term), primary.node];
  if (node === primary.node) {
    if (closed === 1) return { state: "offline", online: [] };
    const followers = rows.flatMap(({ follower }) => nodeAt(follower) ?? []);
    return { state: "online", role: "primary", view, primary: primaryNode, online: [...new Set([node, ...followers])] };
  }
  if (closed === 0 || nodeAt(source) !== primary.node) return { state: "offline", online: [] };
  const isWell = receiving === "ON" && applying === "ON";
  return {
    state: isWell ? "online" : "recovering",
    role: "secondary",
    view,
    primary: primaryNode,
    online: [node, primary.node],
  };
}

/** Short, and different on every timeline and in every term. */
export const viewOf = (group: string, term: number): string => `${group.slice(0, 8)}.${term}`;
