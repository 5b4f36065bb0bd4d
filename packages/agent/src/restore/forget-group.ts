import { groupAccount } from "../cluster/group-sql.ts";
import { withRoot } from "../mysql/node-sql.ts";

/** Removes the group configuration from a former member's data: the restored node joins another group, or none. */
export const forgetGroup = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("RESET REPLICA ALL");
    await connection.query("DROP USER IF EXISTS ?@'%'", [groupAccount]);
  });
