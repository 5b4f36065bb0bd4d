import type { Connection, RowDataPacket } from "mysql2/promise";
import type { ClusterViews } from "../gatekeeper/gatekeeper-client.ts";
import type { ArchivedNode } from "./archived-node.ts";

/**
 * The clock that the server stamps its commits with, in milliseconds. `before` rounds down: no later commit has an
 * earlier time. `after` rounds up: no earlier commit has a later time.
 */
export async function serverTime(connection: Connection, side: "before" | "after" = "before"): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>(
    "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED) AS us",
  );
  const ms = Number(rows[0]?.["us"]) / 1000;
  return new Date(side === "before" ? Math.floor(ms) : Math.floor(ms) + 1).toISOString();
}

/** Longer than it takes to apply a large transaction; a group without a majority never answers. */
const withinMs = 30_000;

/**
 * A time of this host's clock before which this member has executed every transaction that the group acknowledged. The
 * group guarantees it: a transaction with consistency BEFORE starts after all preceding ones are applied.
 */
async function groupTime(connection: Connection): Promise<string> {
  const time = await serverTime(connection);
  await connection.query("SET SESSION group_replication_consistency = 'BEFORE'");
  try {
    await connection.query({ sql: "START TRANSACTION", timeout: withinMs });
    await connection.query({ sql: "COMMIT", timeout: withinMs });
  } finally {
    await connection.query("SET SESSION group_replication_consistency = DEFAULT").catch(() => {});
  }
  return time;
}

/** A host whose clock is further off raises an alert. */
export const clocksDifferMs = 2000;

export const shifted = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();

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
