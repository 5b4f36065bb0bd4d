import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";
import { admits, type Sources } from "./sources.ts";

type Session = RowDataPacket & { id: number; host: string };

/** The kernel already drops their packets; this disconnects the clients and releases what their sessions hold. */
export const endSessions = (socket: string, sources: Sources): Promise<number> =>
  withRoot(socket, async (connection) => {
    const [sessions] = await connection.query<Session[]>(
      "SELECT ID AS id, HOST AS host FROM performance_schema.processlist WHERE HOST LIKE '%:%'",
    );
    const ended = sessions.filter(({ host }) => !admits(sources, addressOf(host)));
    for (const { id } of ended) await connection.query("KILL ?", [id]).catch(ignoreEnded);
    return ended.length;
  });

/** The server writes `address:port`, an IPv6 address without brackets. */
const addressOf = (host: string): string => host.slice(0, host.lastIndexOf(":")).replace(/^\[(.*)\]$/, "$1");

function ignoreEnded(error: Error & { code?: string }): void {
  if (error.code !== "ER_NO_SUCH_THREAD") throw error;
}
