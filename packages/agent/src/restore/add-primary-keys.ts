import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";
import { BrokenArchive } from "./restore-errors.ts";

const keyless = `SELECT t.TABLE_SCHEMA AS \`schema\`, t.TABLE_NAME AS name FROM information_schema.TABLES t
  LEFT JOIN (SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0
    GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME HAVING MAX(NULLABLE) = '') k USING (TABLE_SCHEMA, TABLE_NAME)
  WHERE k.TABLE_NAME IS NULL AND t.TABLE_TYPE = 'BASE TABLE'
    AND t.TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')`;

/**
 * A group member refuses writes to a table without a primary key; a single node may have such tables. Before its data
 * become a cluster's, they get the invisible key that a cluster generates for new tables.
 */
export const addPrimaryKeys = (socket: string): Promise<number> =>
  withRoot(socket, async (connection) => {
    const [tables] = await connection.query<RowDataPacket[]>(keyless);
    for (const { schema, name } of tables)
      await connection
        .query(
          "ALTER TABLE ??.?? ADD COLUMN my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY FIRST",
          [schema, name],
        )
        .catch((error: Error) => {
          throw new BrokenArchive(
            `Three nodes need a primary key in every table, and ${schema}.${name} cannot be given one: ${error.message}`,
          );
        });
    return tables.length;
  });
