import type { Connection, RowDataPacket } from "mysql2/promise";

/**
 * Does work that waits for locks of a tenant's sessions, such as a new password or `read_only`. A session can hold them
 * for ever, with FLUSH TABLES WITH READ LOCK or LOCK TABLES, so after `waitSeconds` those that hold them are ended, and
 * the work is done again. A tenant can switch off the server's record of its locks: then all sessions of the tenant end.
 */
export async function despiteLocks<T>(connection: Connection, work: () => Promise<T>, waitSeconds = 2): Promise<T> {
  await limitLockWaits(connection, waitSeconds);
  try {
    return await work();
  } catch (error) {
    if ((error as { code?: string }).code !== "ER_LOCK_WAIT_TIMEOUT") throw error;
  }
  if ((await end(connection, lockHolders)) === 0) await end(connection, tenantSessions);
  return work();
}

/** The engine's own limit for locks of tables is a year. */
export const limitLockWaits = (connection: Connection, seconds: number): Promise<unknown> =>
  connection.query({
    sql: "SET SESSION lock_wait_timeout = ?, SESSION innodb_lock_wait_timeout = ?",
    values: [seconds, seconds],
    timeout: 5000,
  });

/** Host `localhost` is the socket, which tenants do not reach, whatever names they give to their accounts. */
const ofTenants = `t.type = 'FOREGROUND' AND t.processlist_id <> CONNECTION_ID() AND t.processlist_user <> 'moorage_group'
  AND NOT (t.processlist_user = 'root' AND t.processlist_host = 'localhost')`;

/** An idle session that holds a lock releases it only with the end of its connection. */
const lockHolders = `SELECT DISTINCT t.processlist_id AS id, t.processlist_command = 'Sleep' AS idle
  FROM performance_schema.metadata_locks l JOIN performance_schema.threads t ON t.thread_id = l.owner_thread_id
  WHERE l.object_type IN ('GLOBAL', 'COMMIT') AND l.lock_status = 'GRANTED' AND ${ofTenants}`;

const tenantSessions = `SELECT t.processlist_id AS id, 1 AS idle FROM performance_schema.threads t WHERE ${ofTenants}`;

async function end(connection: Connection, sessions: string): Promise<number> {
  const [found] = await connection.query<RowDataPacket[]>(sessions);
  for (const { id, idle } of found)
    await connection.query(`KILL ${idle ? "CONNECTION" : "QUERY"} ?`, [id]).catch(() => {}); // it ended by itself
  return found.length;
}
