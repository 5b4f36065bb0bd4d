/** Connections beyond the plan's: some for the tenant's admin, the rest for the agent, backups and replication. */
export const reservedConnections = { all: 10, service: 5 };

/**
 * Fails, and so ends a session that would take a reserved connection. The engine runs it for every session except those
 * of accounts with CONNECTION_ADMIN, which no tenant has. The cast fails because `x` is not JSON.
 */
const keepReserve =
  `DO (SELECT IF(VARIABLE_VALUE > @@GLOBAL.max_connections - IF(CURRENT_USER() = 'dbadmin@%', ` +
  `${reservedConnections.service}, ${reservedConnections.all}), CAST('x' AS JSON), 0) ` +
  `FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Threads_connected')`;

const sqlMode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO";

/**
 * Settings of every server that takes tenants, which can change at run time. A server executes them when it starts
 * (start-up.sql); the agent applies them to one that runs already. Not in my.cnf: a changed file restarts every server.
 *
 * - log_bin_trust_function_creators: triggers and functions for accounts without SUPER. Its risk concerns statements in
 *   the binary log, and ours has rows.
 * - sql_mode without NO_ENGINE_SUBSTITUTION: `ENGINE=MEMORY`, temporary or not, makes an InnoDB table and a warning.
 * - local_infile: a client reads a file for LOAD DATA LOCAL only if the client allows it too.
 */
export const settings: readonly string[] = [
  "SET GLOBAL log_bin_trust_function_creators = ON",
  `SET GLOBAL sql_mode = '${sqlMode}'`,
  "SET GLOBAL local_infile = ON",
  `SET GLOBAL init_connect = "${keepReserve}"`,
];

/** Inside the container. Statements and settings name these files; the server reads them anew for each connection. */
export const tlsFile = { authorities: "/etc/mysql/tls/ca.pem", certificate: "/etc/mysql/tls/server.pem" };
