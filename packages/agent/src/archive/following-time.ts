import type { Connection, RowDataPacket } from "mysql2/promise";
import type { ClusterViews } from "../gatekeeper/views.ts";
import type { ArchivedNode } from "./archived-node.ts";
import { clocksDifferMs, groupTime, shifted } from "./group-time.ts";
import { serverTime } from "./server-time.ts";

export type TimeDeps = { viewsOf: (node: string) => Promise<ClusterViews | undefined> };

/** Longer than a large transaction takes to be applied. */
const withinSeconds = 30;

/** A time before which nothing was acknowledged in its cluster that this member has not executed. */
export const memberTime = (deps: TimeDeps, node: ArchivedNode, connection: Connection): Promise<string> =>
  node.spec.cluster?.primary === undefined ? groupTime(connection) : followingTime(deps, node, connection);

/**
 * In an asynchronous cluster the leader has everything. A follower has what its leader was heard to have, once it has
 * executed that; the leader stamps its commits by another host's clock.
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
    throw new Error("It does not follow a leader that takes writes.");
  const [rows] = await connection.query<RowDataPacket[]>("SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?) AS late", [
    primaryView.gtid,
    withinSeconds,
  ]);
  if (rows[0]?.["late"] !== 0) throw new Error(`It did not reach its leader within ${withinSeconds} s.`);
  return shifted(time, -primaryView.ageMs - clocksDifferMs);
}

/**
 * Whether all that it has is the past of its cluster. Who takes its transactions from another than the leader of the term
 * may have some that are lost.
 */
export async function isInLine({ spec }: ArchivedNode, connection: Connection): Promise<boolean> {
  const { primary, members = [] } = spec.cluster ?? {};
  if (primary === undefined || primary.node === spec.node) return true;
  const [rows] = await connection.query<RowDataPacket[]>(
    "SELECT host FROM performance_schema.replication_connection_configuration WHERE channel_name = ''",
  );
  return members.some(({ node, address }) => node === primary.node && address === rows[0]?.["host"]);
}
