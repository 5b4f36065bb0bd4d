/** Connections beyond those of the plan: for the tenant's admin, and the rest for the agent, backups and replication. */
export const reservedConnections = { all: 10, service: 5 };

/**
 * Fails for a session that would take a reserved connection, which ends it. The engine runs it for every session but
 * those of accounts with CONNECTION_ADMIN, which no tenant has. JSON is only there because `x` is none.
 */
const keepReserve =
  `DO (SELECT IF(VARIABLE_VALUE > @@GLOBAL.max_connections - IF(CURRENT_USER() = 'dbadmin@%', ` +
  `${reservedConnections.service}, ${reservedConnections.all}), CAST('x' AS JSON), 0) ` +
  `FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Threads_connected')`;

const sqlMode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO";

/**
 * What every server has that takes tenants, and that can change while it runs. A server executes it when it starts
 * (start-up.sql); one that runs already is told by its agent. Not in my.cnf: another text there restarts every server.
 *
 * - log_bin_trust_function_creators: triggers and functions for accounts without SUPER. What it warns of are statements in
 *   the binary log, and ours has rows.
 * - sql_mode without NO_ENGINE_SUBSTITUTION: `ENGINE=MEMORY`, temporary or not, makes an InnoDB table and a warning.
 * - local_infile: a client reads a file for LOAD DATA LOCAL only if it was itself told to.
 */
export const settings: readonly string[] = [
  "SET GLOBAL log_bin_trust_function_creators = ON",
  `SET GLOBAL sql_mode = '${sqlMode}'`,
  "SET GLOBAL local_infile = ON",
  `SET GLOBAL init_connect = "${keepReserve}"`,
];
