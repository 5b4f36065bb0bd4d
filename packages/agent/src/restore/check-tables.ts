import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";

type Named = RowDataPacket & { schema: string; name: string };
type Checked = RowDataPacket & { Msg_type: string; Msg_text: string };
type Counted = RowDataPacket & { rows: number };

const tenants = `SELECT TABLE_SCHEMA AS \`schema\`, TABLE_NAME AS name FROM information_schema.TABLES
  WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
  ORDER BY 1, 2`;

export type Checks = { tables: number; rows: number };

/** Opens each table of the tenant and reads one row if there is one. */
export const openTables = (socket: string, signal: AbortSignal): Promise<Checks> =>
  withRoot(socket, async (connection) => {
    const [tables] = await connection.query<Named[]>(tenants);
    for (const { schema, name } of tables) {
      signal.throwIfAborted();
      await connection.query("SELECT 1 FROM ??.?? LIMIT 1", [schema, name]);
    }
    return { tables: tables.length, rows: 0 };
  });

/** Runs CHECK TABLE on every table of the tenant, which reads each page and index, and counts all rows. */
export const checkTables = (socket: string, signal: AbortSignal): Promise<Checks> =>
  withRoot(socket, async (connection) => {
    const [tables] = await connection.query<Named[]>(tenants);
    let rows = 0;
    for (const { schema, name } of tables) {
      signal.throwIfAborted();
      const [found] = await connection.query<Checked[]>("CHECK TABLE ??.??", [schema, name]);
      const wrong = found.find(
        ({ Msg_type, Msg_text }) => Msg_type === "error" || (Msg_type === "status" && Msg_text !== "OK"),
      );
      if (wrong !== undefined) throw new TableBroken(`Table ${schema}.${name} is damaged: ${wrong.Msg_text}`);
      const [counted] = await connection.query<Counted[]>("SELECT COUNT(*) AS `rows` FROM ??.??", [schema, name]);
      rows += counted[0]?.rows ?? 0;
    }
    return { tables: tables.length, rows };
  });

export class TableBroken extends Error {
  override readonly name = "TableBroken";
}
