import type { Connection } from "mysql2/promise";
import { serverTime } from "./server-time.ts";

/** Longer than a large transaction takes to be applied; a group without a majority never answers. */
const withinMs = 30_000;

/**
 * A time of this host before which nothing was acknowledged by the group that this member has not executed. The group
 * itself says so: a transaction of this consistency begins after all that came before it.
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

/** Hosts whose clocks are further off are alarmed. */
export const clocksDifferMs = 2000;

export const shifted = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();
