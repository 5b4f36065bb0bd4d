import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { NodeSpec } from "@moorage/contract/agent";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeGroupAccount } from "../replication/member/member-sql.ts";
import { addPrimaryKeys } from "../restore/restore-steps.ts";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
let generation = 0;
const node = randomUUID();
const port = 20_071;
const issuer = "/CN=database-1";

beforeAll(async () => {
  host = await makeTestHost("moor-t-base", "198.18.85");
  gateway = await startFakeGateway(host.outside, 14_485, enrolToken);
  environment = agentEnvironment(host, gateway);
  host.known(node);
  host.startAgent(environment);
  await apply({});
  await query("CREATE DATABASE shop; CREATE USER app@'%' IDENTIFIED BY 'app'; GRANT ALL ON shop.* TO app@'%'");
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

const logIn = (user = "dbadmin", password = gateway.secrets.password): Promise<Connection> =>
  createConnection({
    host: host.inside,
    port,
    user,
    password,
    ssl: { rejectUnauthorized: false },
    connectTimeout: 120_000,
    multipleStatements: true,
    flags: ["+LOCAL_FILES"],
    infileStreamFactory: () => Readable.from([Buffer.from("1\n2\n3\n")]),
  });
async function query<T = RowDataPacket[]>(sql: string, user?: string, password?: string): Promise<T> {
  const connection = await logIn(user, password);
  try {
    return (await connection.query(sql))[0] as T;
  } finally {
    connection.destroy();
  }
}
const socket = (): string => join(host.state, "nodes", node, "run", "mysqld.sock");
const asRoot = (...statements: string[]) =>
  withPatientRoot(socket(), async (connection) => {
    let rows: unknown;
    for (const each of statements) [rows] = await connection.query(each);
    return rows as RowDataPacket[];
  });
const refusal = (sql: string, user?: string, password?: string): Promise<string> =>
  query(sql, user, password).then(
    () => "done",
    (error: { code?: string }) => String(error.code),
  );
const serverPid = (): string => host.podman("inspect", "--format", "{{.State.Pid}}", `moorage-${node}`).trim();
const isSleeping = async (id: number): Promise<boolean> => {
  const statement = `id = ${id} AND info LIKE 'SELECT SLEEP%'`;
  return (await asRoot(`SELECT 1 FROM performance_schema.processlist WHERE ${statement}`)).length === 1;
};

/** One for each check: a server caches a zone that it has found. */
const zones: [string, number][] = [
  ["US/Eastern", 8],
  ["Asia/Calcutta", 17],
  ["US/Mountain", 6],
];

/** What applications expect of a server, as statements that fail without it. */
const expectations: [string, () => Promise<void>][] = [
  [
    "triggers and functions, by the admin and by an application's user",
    async () => {
      for (const [user, password] of [[], ["app", "app"]])
        await query(
          `DROP TABLE IF EXISTS shop.orders; DROP FUNCTION IF EXISTS shop.twice;
           CREATE FUNCTION shop.twice(n INT) RETURNS INT RETURN 2 * n;
           CREATE TABLE shop.orders (id INT PRIMARY KEY, double_id INT);
           CREATE TRIGGER shop.fill BEFORE INSERT ON shop.orders FOR EACH ROW SET NEW.double_id = shop.twice(NEW.id);
           INSERT INTO shop.orders (id) VALUES (21)`,
          user,
          password,
        );
      expect(await query("SELECT double_id FROM shop.orders")).toEqual([{ double_id: 42 }]);
    },
  ],
  [
    "time zones by name, those of long ago too",
    async () => {
      const [zone, hour] = zones.shift() ?? [];
      const [row] = await query(`SELECT HOUR(CONVERT_TZ('2026-06-01 12:00:00', 'UTC', '${zone}')) AS hour`);
      expect(row).toEqual({ hour });
    },
  ],
  [
    "FLUSH PRIVILEGES",
    async () => {
      expect(await refusal("FLUSH PRIVILEGES")).toBe("done");
    },
  ],
  [
    "a temporary table that requests MEMORY",
    async () => {
      expect(await refusal("CREATE TEMPORARY TABLE shop.seen (a INT) ENGINE=MEMORY")).toBe("done");
    },
  ],
  [
    "LOAD DATA LOCAL, for a client that allows it",
    async () => {
      await query("DROP TABLE IF EXISTS shop.lines; CREATE TABLE shop.lines (n INT PRIMARY KEY)");
      await query("LOAD DATA LOCAL INFILE 'any' INTO TABLE shop.lines");
      expect(await query("SELECT SUM(n) AS sum FROM shop.lines")).toEqual([{ sum: "6" }]);
    },
  ],
  [
    "the end of a session and of a statement of another of the tenant's accounts",
    async () => {
      const session = await logIn("app", "app");
      const slept = session.query("SELECT SLEEP(600) AS s");
      slept.catch(() => {});
      await until("the statement", () => isSleeping(session.threadId));
      await query(`CALL sys.kill_query(${session.threadId})`);
      expect((await slept)[0]).toEqual([{ s: 1 }]);
      const ended = new Promise((resolve) => session.once("error", resolve));
      await query(`CALL sys.kill_session(${session.threadId})`);
      await ended;
    },
  ],
  [
    "tables without a key, in a session that allows them",
    async () => {
      await query(
        "DROP TABLE IF EXISTS shop.keyless; CALL sys.generate_invisible_primary_keys(FALSE); CREATE TABLE shop.keyless (a INT)",
      );
      const [made] = await query("SHOW CREATE TABLE shop.keyless");
      expect(made?.["Create Table"]).not.toContain("my_row_id");
    },
  ],
];

test("a new node has no transaction of its own", async () => {
  const [row] = await query("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, CONCAT(@@server_uuid, ':1-3')) AS others");
  expect(row).toEqual({ others: "" });
});

test.each(expectations)("a new node: %s", async (_, expectation) => {
  await expect(expectation()).resolves.toBeUndefined();
});

test("a tenant cannot kill sessions of the service or ids that are no session", async () => {
  const ours = await asRoot(
    "SELECT processlist_id AS id FROM performance_schema.threads WHERE processlist_id > 0 AND processlist_id <> CONNECTION_ID() AND COALESCE(processlist_user, '') NOT IN ('dbadmin', 'app')",
  );
  expect(ours.length).toBeGreaterThan(0);
  await withPatientRoot(socket(), async (root) => {
    for (const id of [...ours.map((each) => each["id"] as number), root.threadId]) {
      expect(await refusal(`CALL sys.kill_session(${id})`)).toMatch(/ER_KILL_DENIED_ERROR|ER_NO_SUCH_THREAD/);
      expect(await refusal(`CALL sys.kill_query(${id})`)).toMatch(/ER_KILL_DENIED_ERROR|ER_NO_SUCH_THREAD/);
    }
    await root.query("SELECT 1");
  });
  expect(await refusal("CALL sys.kill_session(4000000000)")).toBe("ER_NO_SUCH_THREAD");
  expect(await refusal("CALL sys.kill_session(1)", "app", "app")).toBe("ER_PROCACCESS_DENIED_ERROR");
});

test("a tenant's code that runs as the members' account cannot change its password", async () => {
  await makeGroupAccount(socket(), "secret", { isGroup: false, issuer });
  const password = () => asRoot("SELECT authentication_string AS a FROM mysql.user WHERE user = 'moorage_group'");
  const before = await password();
  try {
    // Every account has the rights of the anonymous one, and a definer of any host runs as the account of all hosts.
    await query("CREATE USER ''@'%'; GRANT EXECUTE ON shop.* TO ''@'%'");
    const definer = "CREATE DEFINER = 'moorage_group'@'198.18.85.1' PROCEDURE";
    await query(`${definer} shop.who() SELECT CURRENT_USER() AS name`);
    expect(JSON.stringify(await query("CALL shop.who()"))).toContain("moorage_group@%");
    for (const change of [
      "ALTER USER CURRENT_USER() IDENTIFIED BY 'mine'",
      "SET PASSWORD = 'mine'",
      "ALTER USER CURRENT_USER() PASSWORD REQUIRE CURRENT OPTIONAL",
    ]) {
      await query(`${definer} shop.own() ${change}`);
      expect([change, await refusal("CALL shop.own()")]).toEqual([change, expect.stringMatching(/^ER_/)]);
      await query("DROP PROCEDURE shop.own");
    }
    expect(await password()).toEqual(before);
  } finally {
    await asRoot(
      "DROP PROCEDURE IF EXISTS shop.own",
      "DROP PROCEDURE IF EXISTS shop.who",
      "DROP USER IF EXISTS ''@'%', 'moorage_group'@'%'",
    );
  }
});

test("with all other connections in use, the admin and the agent can still connect", async () => {
  const [{ max } = { max: 0 }] = (await query("SELECT @@GLOBAL.max_connections AS max")) as { max: number }[];
  const held: Connection[] = [];
  const fill = async (user: string, password: string): Promise<string> => {
    for (;;) {
      const connection = await logIn(user, password).catch((error: { code: string }) => error.code);
      if (typeof connection === "string") return connection;
      const refused = await connection.query("DO 1").then(
        () => undefined,
        (error: { code: string }) => error.code,
      );
      if (refused !== undefined) return refused;
      held.push(connection);
    }
  };
  try {
    expect(await fill("app", "app")).toBe("ER_NEW_ABORTING_CONNECTION");
    expect(held.length).toBeGreaterThan(max - 10 - 5);
    expect(held.length).toBeLessThanOrEqual(max - 10);
    expect(await query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    // Those of the admin run out too: the rest is the agent's.
    expect(await fill("dbadmin", gateway.secrets.password)).toBe("ER_NEW_ABORTING_CONNECTION");
    await Promise.all([1, 2, 3].map(() => asRoot("SELECT SLEEP(0.2)")));
    gateway.secrets.password = "another one";
    await apply({ credentials: { username: "dbadmin", version: 2 } });
  } finally {
    for (const connection of held) connection.destroy();
  }
  await until("room", () =>
    query("SELECT 1").then(
      () => true,
      () => false,
    ),
  );
});

test.each([
  ["renamed", "RENAME USER dbadmin@'%' TO boss@'%'"],
  ["dropped", "DROP USER dbadmin@'%'"],
  ["without rights", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM dbadmin@'%'"],
])("a password reset restores an admin that was %s", async (what, sql) => {
  const before = await asRoot("SHOW GRANTS FOR dbadmin@'%'");
  await query(sql);
  gateway.secrets.password = `after it was ${what}`;
  await apply({ credentials: { username: "dbadmin", version: 10 + generation } });
  expect(await query("SHOW GRANTS")).toEqual(before.map((row) => row));
});

/** A server as it was before there was a baseline. */
const older = [
  "SET SESSION sql_log_bin = 0",
  ...["kill_session", "kill_query", "require_tenant_session", "generate_invisible_primary_keys"].map(
    (name) => `DROP PROCEDURE sys.${name}`,
  ),
  "DROP USER 'moorage_tools'@'localhost'",
  "REVOKE FLUSH_PRIVILEGES ON *.* FROM dbadmin@'%'",
  ...["", "_name", "_transition", "_transition_type"].map((name) => `DELETE FROM mysql.time_zone${name}`),
  "SET GLOBAL log_bin_trust_function_creators = OFF",
  "SET GLOBAL local_infile = OFF",
  "SET GLOBAL init_connect = ''",
  "SET GLOBAL sql_mode = CONCAT(@@GLOBAL.sql_mode, ',NO_ENGINE_SUBSTITUTION')",
];

test("without a baseline every expectation fails, and a definer named like our account gains no rights", async () => {
  await host.stopAgent();
  await asRoot(...older);
  for (const [, expectation] of expectations) await expect(expectation()).rejects.toBeInstanceOf(Error);
  await query("CREATE DEFINER = 'moorage_tools'@'localhost' PROCEDURE shop.own() KILL 1");
  await query("CREATE DEFINER = 'moorage_group'@'%' PROCEDURE shop.join_in() KILL 1");
  await expect(makeGroupAccount(socket(), "secret", { isGroup: true, issuer })).rejects.toThrow(
    "shop.join_in has the definer",
  );
  expect(await asRoot("SELECT 1 FROM mysql.user WHERE user = 'moorage_group'")).toEqual([]);
  host.startAgent(environment);
  await until("the refusal", () => host.log().includes("which is reserved"));
  expect(await asRoot("SELECT 1 FROM mysql.user WHERE user = 'moorage_tools'")).toEqual([]);
  // An agent that needs longer than 3 s to look at its nodes first reports that it works on them.
  await expect.poll(() => gateway.latest(node)?.state).toBe("running");
  await query("DROP PROCEDURE shop.own");
});

test("a server of an earlier release gets the whole baseline while it runs", async () => {
  const pid = serverPid();
  await host.stopAgent();
  host.startAgent(environment);
  await until("the baseline", async () => (await refusal("CALL sys.kill_session(4000000000)")) === "ER_NO_SUCH_THREAD");
  for (const [, expectation] of expectations) await expectation();
  expect(serverPid()).toBe(pid);
  expect(await asRoot("SELECT COUNT(*) > 500 AS zones FROM mysql.time_zone_name")).toEqual([{ zones: 1 }]);
});

test("data that become a cluster's get missing primary keys, and a table that cannot have one is named", async () => {
  await query(`CREATE DATABASE keys_of; USE keys_of; CALL sys.generate_invisible_primary_keys(FALSE);
    CREATE TABLE none (a INT); INSERT INTO none VALUES (7), (7);
    CREATE TABLE nullable (a INT UNIQUE);
    CREATE TABLE equivalent (a INT NOT NULL UNIQUE); CREATE TABLE own (a INT PRIMARY KEY)`);
  await asRoot("DROP TABLE IF EXISTS shop.keyless");
  expect(await addPrimaryKeys(socket())).toBe(2);
  expect(await query("SELECT a, my_row_id FROM keys_of.none")).toEqual([
    { a: 7, my_row_id: 1 },
    { a: 7, my_row_id: 2 },
  ]);
  await query(`CALL sys.generate_invisible_primary_keys(FALSE);
    CREATE TABLE keys_of.counted (id INT AUTO_INCREMENT, KEY (id))`);
  await expect(addPrimaryKeys(socket())).rejects.toThrow("keys_of.counted cannot be given one");
});

test("a restarted server has its settings from the first session on", async () => {
  host.podman("kill", "--signal", "KILL", `moorage-${node}`);
  await until("SQL", () =>
    query("SELECT 1").then(
      () => true,
      () => false,
    ),
  );
  const [row] = await query(
    "SELECT @@GLOBAL.log_bin_trust_function_creators AS t, @@GLOBAL.local_infile AS l, @@GLOBAL.init_connect <> '' AS i",
  );
  expect(row).toEqual({ t: 1, l: 1, i: 1 });
});
