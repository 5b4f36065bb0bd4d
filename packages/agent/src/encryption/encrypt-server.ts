import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";

/**
 * Encrypts the tables of the prepared directory, which was built without keys. Not in the binary log: every server does
 * it for itself. A server that dies in the middle continues when it starts.
 */
export const encryptServer = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [clear] = await connection.query<RowDataPacket[]>(
      `SELECT name FROM information_schema.innodb_tablespaces
       WHERE encryption <> 'Y' AND name IN ('mysql', 'sys/sys_config')`,
    );
    await connection.query("SET SESSION sql_log_bin = 0");
    for (const { name } of clear) await connection.query(encrypted[name as keyof typeof encrypted]);
  });

const encrypted = {
  mysql: "ALTER TABLESPACE mysql ENCRYPTION = 'Y'",
  "sys/sys_config": "ALTER TABLE sys.sys_config ENCRYPTION = 'Y'",
};
