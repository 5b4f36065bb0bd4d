import type { RowDataPacket } from "mysql2/promise";
import { withRoot } from "../mysql/node-sql.ts";
import { BrokenArchive } from "./restore-errors.ts";

/** Privileges of a tenant's admin (engines/mysql/admin.sql), which it may grant to others. */
const grantable = [
  "ALLOW_NONEXISTENT_DEFINER",
  "APPLICATION_PASSWORD_ADMIN",
  "FLUSH_OPTIMIZER_COSTS",
  "FLUSH_PRIVILEGES",
  "FLUSH_STATUS",
  "FLUSH_TABLES",
  "FLUSH_USER_RESOURCES",
  "ROLE_ADMIN",
  "SET_ANY_DEFINER",
  "SHOW_ROUTINE",
  "XA_RECOVER_ADMIN",
];

const ours =
  "Host = 'localhost' AND User IN ('root', 'moorage_tools', 'mysql.infoschema', 'mysql.session', 'mysql.sys')";
const beyond = `SELECT CONCAT(User, '@', Host) AS account FROM mysql.user
  WHERE NOT (${ours}) AND 'Y' IN (Super_priv, File_priv, Shutdown_priv, Reload_priv, Create_tablespace_priv)
  UNION SELECT CONCAT(User, '@', Host) FROM mysql.global_grants WHERE NOT (${ours}) AND PRIV NOT IN (?)`;

/**
 * A replay runs as root. If a tenant's text were ever misread as a statement there, no account may end up with more
 * privileges than a tenant can have.
 */
export const requireTenantRights = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [found] = await connection.query<RowDataPacket[]>(beyond, [grantable]);
    if (found.length > 0)
      throw new BrokenArchive(`${String(found[0]?.["account"])} would have privileges that no tenant has.`);
  });
