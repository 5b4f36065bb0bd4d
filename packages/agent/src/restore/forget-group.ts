import { groupAccount } from "../cluster/group-sql.ts";
import { withRoot } from "../mysql/node-sql.ts";

/** Data that were a member's know its group: whoever lives on them next has another one, or none. */
export const forgetGroup = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("RESET REPLICA ALL");
    await connection.query("DROP USER IF EXISTS ?@'%'", [groupAccount]);
  });
