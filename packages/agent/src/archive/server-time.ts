import type { Connection, RowDataPacket } from "mysql2/promise";

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
