import type { Connection, RowDataPacket } from "mysql2/promise";
import type { ClusterViews } from "../gatekeeper/views.ts";
import type { ArchivedNode } from "./archived-node.ts";
import { clocksDifferMs, groupTime, shifted } from "./group-time.ts";
import { serverTime } from "./server-time.ts";

export type TimeDeps = { viewsOf: (node: string) => Promise<ClusterViews | undefined> };

/** Longer than it takes to apply a large transaction. */
const withinSeconds = 30;

/** A time before which this member has executed every transaction that its cluster acknowledged. */
export const memberTime = (deps: TimeDeps, node: ArchivedNode, connection: Connection): Promise<string> =>
  node.spec.cluster?.primary === undefined ? groupTime(connection) : followingTime(deps, node, connection);

/**
 * In an asynchronous cluster the primary has everything. A replica waits until it has executed the primary's last
 * reported GTID set; the primary stamps its commits by another host's clock.
 */
async function followingTime({ viewsOf }: TimeDeps, { spec }: ArchivedNode, connection: Connection): Promise<string> {
  const { primary } = spec.cluster ?? {};
  const time = await serverTime(connection);
  const { own, others = [] } = (await viewsOf(spec.node)) ?? {};
  const isOfTerm = own?.state === "online" && own.term === primary?.term;
  if (isOfTerm && own.role === "primary") return time;
  const primaryView = others.find(
    ({ node, state, role }) => node === primary?.node && state === "online" && role === "primary",
  );
  if (!isOfTerm || primaryView?.gtid === undefined || primaryView.view !== own.view)
    throw new Error("This member does not replicate from a primary that accepts writes.");
  const [rows] = await connection.query<RowDataPacket[]>("SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?) AS late", [
    primaryView.gtid,
    withinSeconds,
  ]);
  if (rows[0]?.["late"] !== 0)
    throw new Error(`This member did not catch up with the primary within ${withinSeconds} s.`);
  return shifted(time, -primaryView.ageMs - clocksDifferMs);
}

/**
 * Whether all of the member's transactions belong to its cluster's history. A member that replicates from another
 * server than the primary of the term may have transactions that are lost.
 */
export async function isInLine({ spec }: ArchivedNode, connection: Connection): Promise<boolean> {
  const { primary, members = [] } = spec.cluster ?? {};
  if (primary === undefined || primary.node === spec.node) return true;
  const [rows] = await connection.query<RowDataPacket[]>(
    "SELECT host FROM performance_schema.replication_connection_configuration WHERE channel_name = ''",
  );
  return members.some(({ node, address }) => node === primary.node && address === rows[0]?.["host"]);
}
