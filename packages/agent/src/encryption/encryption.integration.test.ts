import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Connection as CallbackConnection } from "mysql2";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { imageName } from "../node/podman.ts";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { makeTestHost, sh, type TestHost, until } from "../testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
const [encrypted, inClear] = [randomUUID(), randomUUID()];
const ports = { [encrypted]: 20_001, [inClear]: 20_002 };

const spec = (node: string, change: Partial<NodeSpec> = {}): NodeSpec =>
  testSpec({
    node,
    engine: builtEngine,
    database: { ...testSpec().database, encrypted: node === encrypted },
    network: { address: host.address(node === encrypted ? 1 : 2), port: ports[node] ?? 0 },
    uid: node === encrypted ? 200_001 : 200_002,
    firewall: { sources: [`${host.outside}/32`] },
    ...change,
  });
const image = (node: string) => join(host.state, "volumes", `${node}.img`);
const folder = (node: string, ...path: string[]) => join(host.state, "nodes", node, ...path);
const keyring = () => folder(encrypted, "keyring", "0", "keyring");
const isRunning = (node: string) => () => gateway.latest(node)?.state === "running";

const tenant = (node: string, connectTimeout = 120_000): Promise<Connection> =>
  createConnection({
    host: host.inside,
    port: ports[node] ?? 0,
    user: "dbadmin",
    password: "correct horse ' battery",
    ssl: { rejectUnauthorized: false },
    connectTimeout,
  });
async function withTenant<T>(
  node: string,
  work: (connection: Connection) => Promise<T>,
  connectTimeout?: number,
): Promise<T> {
  const connection = await tenant(node, connectTimeout);
  try {
    return await work(connection);
  } finally {
    connection.destroy();
  }
}
const query = (node: string, sql: string, connectTimeout?: number) =>
  withTenant(node, async (each) => (await each.query(sql))[0], connectTimeout);
const answers = (node: string) =>
  query(node, "SELECT 1", 5000).then(
    () => true,
    () => false,
  );

beforeAll(async () => {
  host = await makeTestHost("moor-t-enc", "198.18.90");
  gateway = await startFakeGateway(host.outside, 14461, enrolToken);
  environment = agentEnvironment(host, gateway);
  for (const node of [encrypted, inClear]) host.known(node);
  host.startAgent(environment);
  gateway.setDesired(spec(encrypted), spec(inClear));
  for (const node of [encrypted, inClear]) await until("the node", isRunning(node));
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

/** Every way in which a server writes a tenant's text to a disk, each with a mark of its own. */
const marks = ["TABLE", "INDEX", "UNDONE", "TEMPORARY", "REDONE", "GROUP", "BUILD"];
const text = (name: string, times = 10) => `REPEAT(CONCAT('MOORmark${name}', SHA2(n, 256)), ${times})`;
const numbers = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20000) SELECT";

async function writeInEveryWay(connection: Connection): Promise<void> {
  for (const sql of [
    "SET cte_max_recursion_depth = 100000",
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE t (n INT PRIMARY KEY, a VARBINARY(2000), k VARBINARY(200), b VARBINARY(2000), KEY (k))",
    `INSERT INTO t ${numbers} n, ${text("TABLE")}, ${text("INDEX", 2)}, ${text("BUILD", 5)} FROM s`,
    `UPDATE t SET a = ${text("TABLE", 11)}`,
    "BEGIN",
    `UPDATE t SET a = ${text("UNDONE")}`,
    "ROLLBACK",
    `CREATE TEMPORARY TABLE p AS ${numbers} n, ${text("TEMPORARY")} AS x, ${text("REDONE")} AS y FROM s`,
    `UPDATE p SET y = ${text("REDONE", 12)}`,
    "SET sort_buffer_size = 262144",
    "SET tmp_table_size = 1048576",
    `SELECT COUNT(*) FROM (SELECT ${text("GROUP", 9)} AS x, COUNT(*) FROM t GROUP BY x) AS grouped`,
    "ALTER TABLE t ADD INDEX (b), ALGORITHM = INPLACE",
  ])
    await connection.query(sql);
}

/** A sort file exists as long as its result is being read: a client that stops reading keeps it. */
async function holdSort(node: string): Promise<() => void> {
  const connection = await tenant(node);
  await connection.query("SET sort_buffer_size = 262144");
  const rows = (connection as unknown as { connection: CallbackConnection }).connection
    .query("SELECT a FROM shop.t ORDER BY a")
    .stream({ highWaterMark: 1 });
  await new Promise((resolve, reject) => rows.once("readable", resolve).once("error", reject));
  return () => connection.destroy();
}

/** Counts each mark in the raw bytes of the files, including space that their file systems call free. */
function hits(...files: string[]): Record<string, number> {
  const counted = sh(`sync; LC_ALL=C grep --text --no-filename -oE 'MOORmark(${marks.join("|")})' ${files.join(" ")} |
    awk '{ n[$0]++ } END { for (mark in n) print mark, n[mark] }'`);
  const lines = counted
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  return Object.fromEntries(
    lines.filter(([mark]) => mark).map(([mark, n]) => [mark?.replace("MOORmark", ""), Number(n)]),
  );
}

test("the control plane receives the keys before the agent requests the tenant's password", () => {
  expect(gateway.keyrings.get(encrypted)).toBe(readFileSync(keyring(), "base64"));
  expect(gateway.keyrings.has(inClear)).toBe(false);
  const sealed = gateway.requestedPaths.indexOf("/v1/keyring");
  expect(sealed).toBeGreaterThan(-1);
  expect(gateway.requestedPaths.slice(sealed)).toContain("/v1/secrets");
});

test("the keys are not on the volume and are readable by the node alone", () => {
  const { mode, uid } = statSync(join(keyring(), ".."));
  expect([mode & 0o777, uid]).toEqual([0o700, 200_001]);
  expect(sh(`find ${folder(encrypted, "volume")} -name keyring`)).toBe("");
});

test("no tenant data is on a disk in clear, however it was written", async () => {
  const found = new Map<string, Record<string, number>>();
  const logs = (node: string) => folder(node, "volume", "data", "binlog.0*");
  for (const node of [encrypted, inClear])
    await withTenant(node, async (connection) => {
      await writeInEveryWay(connection);
      // While the sessions are open, so that their temporary files exist.
      const end = await holdSort(node);
      found.set(node, hits(image(node), ...(node === encrypted ? [folder(node, "temporary.img")] : [])));
      end();
    });
  process.stdout.write(
    `in clear: ${JSON.stringify(found.get(inClear))}, logs ${JSON.stringify(hits(logs(inClear)))}\n`,
  );
  expect(Object.keys(found.get(inClear) ?? {}).sort()).toEqual([...marks].sort());
  expect(hits(logs(inClear))["TABLE"]).toBeGreaterThan(0);
  expect([found.get(encrypted), hits(logs(encrypted))]).toEqual([{}, {}]);
  expect(sh(`grep -r --text --files-with-matches MOORmark ${folder(encrypted, "volume")} || true`)).toBe("");
});

test.each([
  "CREATE TABLE shop.n (a INT) ENCRYPTION = 'N'",
  "CREATE TABLE shop.n (a INT NOT NULL) ENGINE = CSV",
  "CREATE TABLE shop.n (a INT) TABLESPACE = innodb_system",
  "CREATE DATABASE n DEFAULT ENCRYPTION = 'N'",
  "ALTER TABLE shop.t ENCRYPTION = 'N'",
  "ALTER DATABASE shop DEFAULT ENCRYPTION = 'N'",
  "SET SESSION default_table_encryption = OFF",
])("a tenant cannot disable encryption: %s", async (sql) => {
  await expect(query(encrypted, sql)).rejects.toThrow(/encrypt|privilege/i);
});

test("temporary files of an encrypted node are not on its volume; a lack of space fails only the query", async () => {
  const files = readdirSync(folder(encrypted, "temporary", "files"));
  expect(files.sort()).toEqual(["archive", "ibtmp1", "innodb", "tmp"]);
  expect(readdirSync(folder(encrypted, "volume", "data"))).not.toContain("ibtmp1");
  const filler = folder(encrypted, "temporary", "filler");
  sh(`fallocate -l $(($(stat -f -c '%a*%S' ${folder(encrypted, "temporary")}) - 20000000)) ${filler}`);
  const sorted = "SELECT COUNT(*) FROM (SELECT CONCAT(t.a, u.b) x FROM shop.t, shop.t u ORDER BY x LIMIT 100000000) z";
  await expect(query(encrypted, sorted)).rejects.toThrow(/No space left on device|is full/);
  expect(await query(encrypted, "SELECT COUNT(*) AS n FROM shop.t")).toEqual([{ n: 20_000 }]);
  rmSync(filler);
});

test("a killed server and a rebooted host recover with the same keys, without the control plane", async () => {
  host.podman("kill", "--signal", "KILL", `moorage-${encrypted}`);
  await until("SQL", () => answers(encrypted));
  await gateway.close();
  sh(`umount --lazy ${folder(encrypted, "temporary")}`);
  await host.reboot(() => {});
  host.startAgent(environment);
  await until("SQL", () => answers(encrypted));
  expect(await query(encrypted, "SELECT COUNT(*) AS n FROM shop.t")).toEqual([{ n: 20_000 }]);
  await gateway.open();
});

test("keys lost on the host are restored from the control plane", async () => {
  const before = readFileSync(keyring());
  await host.stopAgent();
  host.podman("kill", "--signal", "KILL", `moorage-${encrypted}`);
  rmSync(folder(encrypted, "keyring"), { recursive: true });
  rmSync(folder(encrypted, "state.json"));
  host.startAgent(environment);
  await until("SQL", () => answers(encrypted));
  expect(readFileSync(keyring()).equals(before)).toBe(true);
  expect(await query(encrypted, "SELECT COUNT(*) AS n FROM shop.t")).toEqual([{ n: 20_000 }]);
});

test("changed keys are sent to the control plane again", async () => {
  await until("the report", isRunning(encrypted));
  const before = gateway.keyrings.get(encrypted);
  const root = await createConnection({
    socketPath: folder(encrypted, "run", "mysqld.sock"),
    user: "root",
    authPlugins: { auth_socket: () => () => Buffer.alloc(0) },
    connectTimeout: 120_000,
  });
  await root.query("ALTER INSTANCE ROTATE INNODB MASTER KEY");
  root.destroy();
  await until("the new keys", () => gateway.keyrings.get(encrypted) !== before);
  await expect.poll(() => gateway.keyrings.get(encrypted)).toBe(readFileSync(keyring(), "base64"));
});

/** Starts the same server on a copy of the volume with the given keys. */
async function startsFromCopy(keys: string | undefined): Promise<boolean> {
  const copy = join(host.dir, "copy");
  for (const name of ["volume", "keyring", "temporary/tmp", "temporary/innodb", "run"])
    mkdirSync(join(copy, name), { recursive: true });
  if (keys !== undefined) cpSync(keys, join(copy, "keyring", "keyring"));
  cpSync(folder(encrypted, "my.cnf"), join(copy, "my.cnf"));
  sh(
    `cp --sparse=always ${image(encrypted)} ${copy}/volume.img && mount -o loop,nouuid ${copy}/volume.img ${copy}/volume`,
  );
  sh(`chown -R 200001:200001 ${copy}/keyring ${copy}/temporary ${copy}/run`);
  const component = join(host.state, "keyring-component");
  const mounts = [
    [`${copy}/volume`, "/volume"],
    [`${copy}/keyring`, "/keyring"],
    [`${copy}/temporary`, "/temporary"],
    [`${copy}/run`, "/run/mysqld"],
    [`${copy}/my.cnf`, "/etc/mysql/my.cnf"],
    [`${component}/mysqld.my`, "/usr/sbin/mysqld.my"],
    [`${component}/component_keyring_file.cnf`, "/usr/lib/mysql/plugin/component_keyring_file.cnf"],
  ].flatMap(([from, to]) => ["--volume", `${from}:${to}`]);
  const options = ["--name", "copy", "--network=none", "--user=200001:200001", "--entrypoint=/usr/sbin/mysqld"];
  const name = imageName(builtEngine.name, builtEngine.image);
  try {
    host.podman("run", "--detach", ...options, ...mounts, name, "--defaults-file=/etc/mysql/my.cnf");
    const started = () => existsSync(join(copy, "run", "mysqld.sock"));
    const ended = () => host.podman("inspect", "--format", "{{.State.Running}}", "copy").trim() === "false";
    await until("an outcome", () => started() || ended());
    return started();
  } finally {
    host.podman("rm", "--force", "--time", "5", "copy");
    sh(`umount ${copy}/volume; rm -rf ${copy}`);
  }
}

test("a server starts on a copied volume only with its keys", async () => {
  await host.stopAgent();
  host.podman("stop", "--time", "60", `moorage-${encrypted}`);
  expect([await startsFromCopy(keyring()), await startsFromCopy(undefined)]).toEqual([true, false]);
  host.startAgent(environment);
  await until("SQL", () => answers(encrypted));
});

test("a plan with more disk has more space for temporary files too", async () => {
  const resources = { memory_mb: 640, vcpus: 1, disk_mb: 8192 };
  gateway.setDesired(spec(encrypted, { generation: 2, resources }), spec(inClear));
  await until("the plan", () => isRunning(encrypted)() && gateway.latest(encrypted)?.generation === 2);
  expect(statSync(folder(encrypted, "temporary.img")).size).toBe(2048 * 1024 * 1024);
  expect(await query(encrypted, "SELECT COUNT(*) AS n FROM shop.t")).toEqual([{ n: 20_000 }]);
});

test("a tombstone removes the keys and the file system for temporary files", async () => {
  gateway.setDesired(spec(encrypted, { generation: 3, tombstone: { operation: 1 } }), spec(inClear));
  await until("the end", () => gateway.latest(encrypted)?.state === "gone");
  expect(existsSync(folder(encrypted))).toBe(false);
  // A container that starts elsewhere on the machine holds all mounts for a moment.
  await expect.poll(() => sh("losetup -a")).not.toContain(encrypted);
});
