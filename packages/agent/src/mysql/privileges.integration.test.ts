import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import { type Connection, type ConnectionOptions, createConnection, type RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
let generation = 0;
const node = randomUUID();
const port = 20_096;

beforeAll(async () => {
  host = await makeTestHost("moor-t-priv", "198.18.96");
  gateway = await startFakeGateway(host.outside, 14_496, enrolToken);
  host.known(node);
  host.startAgent(agentEnvironment(host, gateway));
  await apply({});
  const first = await logIn();
  for (const sql of [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (a INT PRIMARY KEY)",
    "CREATE USER app@'%' IDENTIFIED BY 'app'",
    "CREATE PROCEDURE shop.mine() SELECT 1",
    "CREATE EVENT shop.mine ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1",
    "CREATE VIEW shop.mine AS SELECT 1",
  ])
    await first.query(sql);
  first.destroy();
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await host?.close();
  await gateway?.close();
});

async function apply(change: Partial<NodeSpec>): Promise<void> {
  generation += 1;
  const network = { address: host.address(1), port };
  const firewall = { sources: [`${host.outside}/32`] };
  gateway.setDesired(testSpec({ node, engine: builtEngine, generation, network, firewall, ...change }));
  await until(`running at ${generation}`, () => {
    const report = gateway.latest(node);
    return report?.state === "running" && report.generation === generation;
  });
}

function logIn(options: ConnectionOptions = {}): Promise<Connection> {
  const { password } = gateway.secrets;
  const ssl = { rejectUnauthorized: false };
  return createConnection({
    host: host.inside,
    port,
    user: "dbadmin",
    password,
    ssl,
    connectTimeout: 120_000,
    ...options,
  });
}

/** "done", or the name of the error. */
async function outcome(sql: string): Promise<string> {
  const tenant = await logIn({ database: "shop" });
  try {
    await tenant.query(sql);
    return "done";
  } catch (error) {
    return String((error as { code?: string }).code);
  } finally {
    tenant.destroy();
  }
}

/** What a statement of a tenant must not change: the service's accounts, all grants, settings, plugins, replication. */
const stateOfServer = () =>
  withPatientRoot(join(host.state, "nodes", node, "run", "mysqld.sock"), async (root) => {
    const rows = async (sql: string) => (await root.query<RowDataPacket[]>(sql))[0];
    return {
      accounts: await rows("SELECT * FROM mysql.user ORDER BY user, host"),
      dynamic: await rows("SELECT * FROM mysql.global_grants ORDER BY user, host, priv"),
      schemas: await rows("SELECT * FROM mysql.db ORDER BY user, host, db"),
      roles: await rows("SELECT * FROM mysql.role_edges"),
      proxies: await rows("SELECT * FROM mysql.proxies_priv ORDER BY user, host"),
      plugins: await rows("SELECT plugin_name, plugin_status FROM information_schema.plugins ORDER BY plugin_name"),
      components: await rows("SELECT * FROM mysql.component"),
      functions: await rows("SELECT * FROM mysql.func"),
      persisted: await rows("SELECT * FROM performance_schema.persisted_variables"),
      replication: await rows("SELECT * FROM performance_schema.replication_connection_configuration"),
      settings: await rows(
        `SELECT * FROM performance_schema.global_variables
         WHERE variable_name NOT IN ('gtid_executed', 'timestamp') ORDER BY variable_name`,
      ),
      routines: await rows(
        "SELECT routine_schema, routine_name, definer FROM information_schema.routines ORDER BY 1, 2, 3",
      ),
    };
  });

const root = "'root'@'localhost'";
const tools = "'moorage_tools'@'localhost'";
/** Dynamic and static privileges that `dbadmin` does not have, and that would change the server or reach its files. */
const withheld = [
  "SUPER, FILE, SHUTDOWN, RELOAD, CREATE TABLESPACE, SYSTEM_USER, SYSTEM_VARIABLES_ADMIN",
  "PERSIST_RO_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN, CONNECTION_ADMIN, SERVICE_CONNECTION_ADMIN",
  "BACKUP_ADMIN, CLONE_ADMIN, BINLOG_ADMIN, REPLICATION_SLAVE_ADMIN, REPLICATION_APPLIER",
  "GROUP_REPLICATION_ADMIN, GROUP_REPLICATION_STREAM, ENCRYPTION_KEY_ADMIN, TABLE_ENCRYPTION_ADMIN",
  "INNODB_REDO_LOG_ENABLE, RESOURCE_GROUP_ADMIN, SENSITIVE_VARIABLES_OBSERVER, TELEMETRY_LOG_ADMIN",
].flatMap((line) => line.split(", "));

const probes: Record<string, readonly string[]> = {
  "the service's accounts": [
    ...["root", "mysql.session", "mysql.sys", "mysql.infoschema", "moorage_tools"].map(
      (name) => `GRANT '${name}'@'localhost' TO dbadmin`,
    ),
    `SET ROLE ${root}`,
    `SET ROLE ${tools}`,
    `SET DEFAULT ROLE ${root} TO dbadmin`,
    `GRANT PROXY ON ${root} TO app@'%'`,
    `ALTER USER ${root} IDENTIFIED BY 'mine'`,
    `ALTER USER ${tools} IDENTIFIED BY 'mine' ACCOUNT UNLOCK`,
    `SET PASSWORD FOR ${root} = 'mine'`,
    `DROP USER ${root}`,
    `DROP USER ${tools}`,
    `RENAME USER ${tools} TO 'mine'@'%'`,
    `REVOKE SYSTEM_USER ON *.* FROM ${tools}`,
    `GRANT SELECT ON shop.* TO ${root}`,
  ],
  "definers with the service's rights": [
    `CREATE DEFINER = ${tools} PROCEDURE shop.own() SET GLOBAL read_only = OFF`,
    `CREATE DEFINER = ${root} FUNCTION shop.own() RETURNS INT RETURN 1`,
    `CREATE DEFINER = ${root} EVENT shop.own ON SCHEDULE EVERY 1 DAY DO SET GLOBAL read_only = OFF`,
    "CREATE DEFINER = 'mysql.session'@'localhost' VIEW shop.own AS SELECT * FROM mysql.user",
    "CREATE DEFINER = 'mysql.sys'@'localhost' TRIGGER shop.own BEFORE INSERT ON shop.t FOR EACH ROW SET NEW.a = 1",
    `ALTER DEFINER = ${root} EVENT shop.mine ENABLE`,
    `ALTER DEFINER = ${root} VIEW shop.mine AS SELECT 2`,
    "DROP PROCEDURE sys.kill_session",
    "ALTER PROCEDURE sys.kill_session SQL SECURITY INVOKER",
    "CREATE PROCEDURE sys.own() SELECT 1",
  ],
  "privileges that dbadmin does not have": [
    ...withheld.map((privilege) => `GRANT ${privilege} ON *.* TO app@'%'`),
    "GRANT ALL ON *.* TO app@'%'",
    "GRANT INSERT ON mysql.* TO app@'%'",
    "GRANT EXECUTE ON mysql.* TO dbadmin@'%'",
  ],
  "grant tables and system schemas": [
    "UPDATE mysql.user SET Super_priv = 'Y' WHERE user = 'dbadmin'",
    "INSERT INTO mysql.global_grants VALUES ('dbadmin', '%', 'SYSTEM_USER', 'N')",
    "DELETE FROM mysql.db",
    "TRUNCATE mysql.procs_priv",
    "CREATE TABLE mysql.own (a INT PRIMARY KEY)",
    "ALTER TABLE mysql.user ADD COLUMN own INT",
    "RENAME TABLE mysql.user TO shop.user",
    "LOCK TABLES mysql.user WRITE",
    "INSERT INTO mysql.component VALUES (9, 9, 'file://component_validate_password')",
    "DROP DATABASE sys",
    "LOCK TABLES sys.sys_config WRITE",
    "SELECT * FROM mysql.user FOR UPDATE",
  ],
  "code and files of the server": [
    "INSTALL COMPONENT 'file://component_keyring_file'",
    "INSTALL PLUGIN own SONAME 'mysql_clone.so'",
    "UNINSTALL PLUGIN auth_socket",
    "CREATE FUNCTION own RETURNS STRING SONAME 'udf_example.so'",
    "SELECT 1 INTO OUTFILE '/volume/tmp/own'",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE shop.t",
    "IMPORT TABLE FROM '/volume/tmp/own.sdi'",
    "CREATE TABLESPACE own ADD DATAFILE 'own.ibd'",
    "CREATE UNDO TABLESPACE own ADD DATAFILE 'own.ibu'",
    "CREATE TABLE shop.own (a INT PRIMARY KEY) DATA DIRECTORY = '/volume/tmp'",
  ],
  "settings of the server": [
    "SET GLOBAL general_log = ON",
    "SET GLOBAL init_connect = ''",
    "SET GLOBAL super_read_only = ON",
    "SET GLOBAL log_bin_trust_function_creators = OFF",
    "SET GLOBAL gtid_purged = '+3e11fa47-71ca-11e1-9e33-c80aa9429562:1'",
    "SET PERSIST max_connections = 10",
    "SET PERSIST_ONLY innodb_buffer_pool_instances = 1",
    "SET SESSION sql_log_bin = OFF",
    "SET SESSION gtid_next = '3e11fa47-71ca-11e1-9e33-c80aa9429562:1'",
    "SET SESSION binlog_format = STATEMENT",
  ],
  "the server and its replication": [
    "SHUTDOWN",
    "RESTART",
    "ALTER INSTANCE ROTATE INNODB MASTER KEY",
    "ALTER INSTANCE DISABLE INNODB REDO_LOG",
    "ALTER INSTANCE RELOAD TLS",
    "FLUSH BINARY LOGS",
    "PURGE BINARY LOGS BEFORE NOW()",
    "RESET BINARY LOGS AND GTIDS",
    "LOCK INSTANCE FOR BACKUP",
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '169.254.169.254'",
    "START REPLICA",
    "RESET REPLICA ALL",
    "START GROUP_REPLICATION",
    "CLONE LOCAL DATA DIRECTORY = '/volume/tmp/own'",
    "CLONE INSTANCE FROM 'own'@'10.0.0.1':3306 IDENTIFIED BY 'own'",
    "BINLOG 'own'",
    "CREATE SERVER own FOREIGN DATA WRAPPER mysql OPTIONS (HOST '10.0.0.1')",
    "CREATE RESOURCE GROUP own TYPE = USER",
  ],
};

/** Anything else, such as a syntax error, would say nothing about rights. */
const denial =
  /^ER_((SPECIFIC_ACCESS|ACCESS|TABLEACCESS|DBACCESS|PROCACCESS|PERSIST_ONLY_ACCESS)_DENIED|ACCESS_DENIED_NO_PASSWORD)_ERROR$|^ER_ROLE_NOT_GRANTED$/;

test.each(Object.entries(probes))(
  "a tenant's admin is denied, and changes nothing about: %s",
  async (_, statements) => {
    const before = await stateOfServer();
    const outcomes = [];
    for (const sql of statements) outcomes.push([sql, await outcome(sql)]);
    expect(outcomes.filter(([, code = ""]) => !denial.test(code))).toEqual([]);
    expect(await stateOfServer()).toEqual(before);
  },
);

test("a file of the server is nothing that a tenant's admin can read", async () => {
  expect(await outcome("DO IF(LOAD_FILE('/etc/passwd') IS NULL, 1, CAST('own' AS JSON))")).toBe("done");
});

test.each([
  ["that locks all tables", ["FLUSH TABLES WITH READ LOCK"]],
  ["that locks a table for writing", ["LOCK TABLES shop.t WRITE"]],
  [
    "that locks all tables, and has switched off the record of locks",
    [
      "UPDATE performance_schema.setup_instruments SET enabled = 'NO' WHERE name = 'wait/lock/metadata/sql/mdl'",
      "FLUSH TABLES WITH READ LOCK",
    ],
  ],
])("a session %s does not keep the agent from setting a new password", async (_, statements) => {
  const session = await logIn();
  session.on("error", () => {}); // the agent may end it
  for (const sql of statements) await session.query(sql);
  gateway.secrets.password = `the one after ${generation}`;
  await apply({ credentials: { username: "dbadmin", version: 10 + generation } });
  expect(await outcome("DO 1")).toBe("done");
  session.destroy();
});
