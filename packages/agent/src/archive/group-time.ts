import type { Connection } from "mysql2/promise";
import { serverTime } from "./server-time.ts";

/** Longer than it takes to apply a large transaction; a group without a majority never answers. */
const withinMs = 30_000;

/**
 * A time of this host's clock before which this member has executed every transaction that the group acknowledged. The
 * group guarantees it: a transaction with consistency BEFORE starts after all preceding ones are applied.
 */
export async function groupTime(connection: Connection): Promise<string> {
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
