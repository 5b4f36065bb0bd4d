import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeSpec, Recipe } from "@moorage/contract/agent";
import { type ObjectStore, startObjectStore } from "@moorage/testkit/object-store.ts";
import { inTurn } from "@moorage/testkit/turns.ts";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { type HandMadeArchive, handMadeArchive } from "../testing/hand-made-archive.ts";
import { baselineOf } from "../mysql/baseline.ts";
import { testSpec } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, sh, type TestHost, until } from "../testing/test-host.ts";
import { requireTenantRights } from "./restore-steps.ts";

let host: TestHost;
let gateway: FakeGateway;
let store: ObjectStore;
let archive: HandMadeArchive;
let environment: Record<string, string>;
const node = randomUUID();
const fork = randomUUID();
const secret = randomUUID();
const networkOf = (n: number) => ({ address: host.address(n), port: 20_000 + n });
const timelines = Array.from({ length: 40 }, () => randomUUID());
const timelineOf = (ordinal: number): string => timelines[ordinal] ?? "";
let generation = 0;
/** A spec with the next generation. */
const spec = (change: Partial<NodeSpec> = {}): NodeSpec =>
  testSpec({
    node,
    generation: ++generation,
    engine: builtEngine,
    network: networkOf(1),
    firewall: { sources: [`${host.outside}/32`] },
    data: { timeline: timelineOf(0), ordinal: 0, origin: "prepared" },
    ...change,
  });
/** Another database, restored from the first one's archive. */
const forked = (ordinal: number): NodeSpec =>
  spec({ node: fork, network: networkOf(2), uid: 200_002, data: restored(ordinal) });
const restored = (ordinal: number, keep?: number): NodeSpec["data"] => ({
  timeline: timelineOf(ordinal),
  ordinal,
  origin: "archive",
  ...(keep !== undefined && { keep }),
});
async function setDesired(desired: NodeSpec, state = "running"): Promise<void> {
  gateway.setDesired(...gateway.desired.nodes.filter((each) => (each as NodeSpec).node !== desired.node), desired);
  await until(`${state} at ${desired.generation}`, () => {
    const report = gateway.latest(desired.node);
    return report?.state === state && report.generation === desired.generation;
  });
}

async function query(n: number, sql: string, password = gateway.secrets.password): Promise<RowDataPacket[]> {
  const connection = await createConnection({
    host: host.inside,
    port: networkOf(n).port,
    user: "dbadmin",
    password,
    ssl: { rejectUnauthorized: false },
    connectTimeout: 120_000,
    multipleStatements: true,
  });
  try {
    return (await connection.query<RowDataPacket[]>(sql))[0];
  } finally {
    connection.destroy();
  }
}
const serverUuid = async (n = 1) => String((await query(n, "SELECT @@server_uuid AS id"))[0]?.["id"]);
const startedAt = () => host.podman("inspect", "--format", "{{.State.StartedAt}}", `moorage-${node}`);
const checksum = async (n = 1) => {
  const [rows] = await query(
    n,
    "SELECT COUNT(*) AS n, COALESCE(BIT_XOR(CRC32(CONCAT(id, text))), 0) AS sum FROM shop.t",
  );
  return { n: Number(rows?.["n"]), sum: Number(rows?.["sum"]) };
};
/** Doubles the table's rows and adds one. */
const grow = (n = 1) =>
  query(
    n,
    "INSERT INTO shop.t (text) SELECT SHA2(CONCAT(RAND(), id), 512) FROM shop.t; INSERT INTO shop.t (text) VALUES ('x')",
  );
const recipe = (of: string, base: Recipe["base"], logs: Recipe["logs"], purpose = "data") =>
  gateway.recipes.set(`${of} ${purpose}`, async () => ({ point: { at: new Date().toISOString() }, base, logs }));
const prepared = (): Recipe["base"] => ({ kind: "prepared", sha256: builtEngine.prepared });
const logAt = (index: number): Recipe["logs"][number] => {
  const log = archive.logs[index];
  if (log === undefined) throw new Error("no such log");
  return log;
};
/** The recipe for a truncated log: size and SHA-256 match its first 70 %. */
const shortened = (log: Recipe["logs"][number]): Recipe["logs"][number] => {
  const bytes = store.read(archive.keyOfLog(log.name)).subarray(0, Math.floor(log.bytes * 0.7));
  return { ...log, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
};
const volumes = (): string[] => readdirSync(join(host.state, "volumes")).filter((name) => name.startsWith(node));
const nothingLeft = (): void => {
  expect(readdirSync(join(host.state, "restore"))).toEqual([]);
  expect(readdirSync(join(host.state, "verify"))).toEqual([]);
  expect(host.podman("ps", "--all", "--format", "{{.Names}}")).not.toMatch(/moorage-(restore|verify)/);
  expect(volumes().filter((name) => !name.endsWith(".img"))).toEqual([]);
};

let base: Recipe["base"];
let whole: Awaited<ReturnType<typeof checksum>>;

beforeAll(async () => {
  host = await makeTestHost("moor-t-rest", "198.18.91");
  gateway = await startFakeGateway(host.outside, 14491, enrolToken);
  store = await startObjectStore(host.outside);
  environment = { ...agentEnvironment(host, gateway), MOORAGE_CRASH_DIR: host.crash };
  for (const each of [node, fork, secret]) host.known(each);
  host.startAgent(environment);
  archive = handMadeArchive(host, store, node);
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  archive?.close();
  await gateway?.close();
  await host?.close();
  await store?.close();
});

describe("data from the archive", () => {
  test("a copy and the logs after it restore every row while the old data stay in use", async () => {
    await setDesired(spec());
    await query(1, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, text TEXT)");
    for (let i = 0; i < 8; i++) await grow();
    base = await archive.copy();
    await archive.ship();
    for (let i = 0; i < 5; i++) await grow();
    await archive.ship();
    await query(1, "DELETE FROM shop.t WHERE id % 3 = 0; CREATE USER 'app'@'%' IDENTIFIED BY 'secret'");
    await archive.ship();
    whole = await checksum();
    const before = await serverUuid();
    await query(1, "DROP TABLE shop.t");
    expect(whole.n).toBeGreaterThan(1000);

    recipe(node, base, archive.logs);
    await setDesired(spec({ data: restored(1, 0) }));
    expect(await checksum()).toEqual(whole);
    expect(await query(1, "SELECT user FROM mysql.user WHERE user = 'app'")).toHaveLength(1);
    expect(await serverUuid()).not.toBe(before);
    expect(gateway.latest(node)?.timeline).toBe(timelineOf(1));
    expect(volumes()).toEqual([`${node}.1.img`, `${node}.img`]);
    nothingLeft();
  });

  test("a kept timeline can be switched back to; when no longer kept, its volume goes to the trash", async () => {
    await setDesired(spec({ data: { timeline: timelineOf(0), ordinal: 0, origin: "prepared", keep: 1 } }));
    await expect(query(1, "SELECT 1 FROM shop.t LIMIT 1")).rejects.toThrow("doesn't exist");
    await setDesired(spec({ data: restored(1, 0) }));
    expect(await checksum()).toEqual(whole);
    await setDesired(spec({ data: restored(1) }));
    await until("the trash", () => volumes().length === 1);
    expect(volumes()).toEqual([`${node}.1.img`]);
    expect(readdirSync(join(host.state, "trash"))).toEqual([expect.stringMatching(new RegExp(`Z-${node}$`))]);
    // An empty volume instead would look like the tenant's data.
    await setDesired(spec(), "failed");
    expect(gateway.latest(node)?.message).toContain("no longer has timeline 0");
    expect(await checksum()).toEqual(whole);
    await setDesired(spec({ data: restored(1) }));
  });

  test("a fork to a time between two commits one second apart has only the first", async () => {
    const present = handMadeArchive(host, store, node);
    const baseline = "ALTER USER 'moorage_tools'@'localhost' COMMENT";
    const presentLevel = await baselineOf(present.socket);
    await withPatientRoot(present.socket, (root) => root.query(`${baseline} 'baseline 0'`));
    await query(1, "CREATE TABLE shop.moments (name VARCHAR(20)); INSERT INTO shop.moments VALUES ('first')");
    await query(1, "DO SLEEP(0.5)");
    const between = new Date().toISOString();
    await query(1, "DO SLEEP(0.5); INSERT INTO shop.moments VALUES ('second')");
    await present.ship();
    // From the prepared directory through the previous timeline's logs into the current one's.
    recipe(fork, prepared(), [...archive.logs, ...present.logs.map((log) => ({ ...log, before: between }))]);
    await setDesired(forked(0));
    expect(await query(2, "SELECT name FROM shop.moments")).toEqual([{ name: "first" }]);
    // The archived data had an older baseline; the restored server has the current one.
    const level = "SELECT attribute->>'$.comment' <> 'baseline 0' AS newer FROM information_schema.user_attributes";
    expect(await query(2, `${level} WHERE user = 'moorage_tools'`)).toEqual([{ newer: 1 }]);
    await withPatientRoot(present.socket, async (root) => {
      await root.query("SET sql_log_bin = 0");
      await root.query(`${baseline} 'baseline ${presentLevel}'`);
    });
    expect(await checksum(2)).toEqual(whole);
    await query(1, "DROP TABLE shop.moments");
    present.close();
  });

  test("data with an account that has more privileges than a tenant can have are refused", async () => {
    const { socket } = nodePaths(hostPaths(host.state), fork);
    const asRoot = (statement: string) =>
      withPatientRoot(socket, async (connection) => {
        await connection.query("SET SESSION sql_log_bin = 0");
        await connection.query(statement);
      });
    await expect(requireTenantRights(socket)).resolves.toBeUndefined();
    for (const right of ["FILE", "SYSTEM_VARIABLES_ADMIN"]) {
      await asRoot(`GRANT ${right} ON *.* TO 'dbadmin'@'%'`);
      await expect(requireTenantRights(socket)).rejects.toThrow("privileges that no tenant has");
      await asRoot(`REVOKE ${right} ON *.* FROM 'dbadmin'@'%'`);
    }
    await expect(requireTenantRights(socket)).resolves.toBeUndefined();
  });

  test("a restore to midnight cuts by commit time, not by a statement's SET TIMESTAMP", async () => {
    const dayMs = 86_400_000;
    // At least an hour from now: everything here is committed before it.
    const midnight = Math.ceil((Date.now() + 3_600_000) / dayMs) * dayMs;
    const present = handMadeArchive(host, store, node);
    await query(1, "CREATE TABLE shop.moments (name VARCHAR(20))");
    const copy = await present.copy();
    await query(1, "SET TIMESTAMP = 2000000000; INSERT INTO shop.moments VALUES (YEAR(NOW()))");
    await withPatientRoot(present.socket, async (root) => {
      for (const at of [midnight - 1000, midnight + 1000]) {
        await root.query("SET SESSION original_commit_timestamp = ?", [at * 1000]);
        await root.query("INSERT INTO shop.moments VALUES (?)", [new Date(at).toISOString().slice(11, 19)]);
      }
    });
    await present.ship();
    recipe(
      fork,
      copy,
      present.logs.map((log) => ({ ...log, before: new Date(midnight).toISOString() })),
    );
    await setDesired(forked(1));
    const names = await query(2, "SELECT name FROM shop.moments ORDER BY name");
    expect(names).toEqual([{ name: "2033" }, { name: "23:59:59" }]);
    await query(1, "DROP TABLE shop.moments");
    present.close();
  });

  test("a flipped byte fails the restore at once, and the old server runs on without a restart", async () => {
    const started = startedAt();
    recipe(node, base, archive.logs);
    store.flipByte(archive.keyOfPart(1), 100);
    const desired = spec({ data: restored(2, 1) });
    await setDesired(desired, "failed");
    store.flipByte(archive.keyOfPart(1), 100);
    expect(gateway.latest(node)).toMatchObject({ state: "failed", timeline: timelineOf(1) });
    expect(gateway.latest(node)?.message).toMatch(/Part 1 of 1 is damaged/);
    expect(await checksum()).toEqual(whole);
    nothingLeft();
    await setDesired(spec({ data: restored(1) }));
    expect(startedAt()).toBe(started);
  });

  const broken: [string, () => Recipe["logs"], RegExp][] = [
    ["is damaged", () => archive.logs, /binlog.000002 is damaged/],
    ["is not in the store", () => archive.logs, /binlog.000002 is missing from the object store/],
    ["ends too soon", () => archive.logs.with(1, shortened(logAt(1))), /binlog.000002 cannot be read: age/],
    ["is not in the recipe", () => archive.logs.toSpliced(1, 1), /lacks a log before binlog.000003/],
    [
      "is not in the recipe, and the next one is cut",
      () => archive.logs.toSpliced(1, 1).map((log) => ({ ...log, before: new Date().toISOString() })),
      /lacks a log before binlog.000003/,
    ],
    [
      "has fewer transactions than it should",
      () => archive.logs.with(1, { ...logAt(1), gtid: `${randomUUID()}:1` }),
      /lacks a part of binlog.000002/,
    ],
  ];
  test.each(broken)(
    "a log that %s fails the restore, and the old server keeps running, restarted if it dies",
    async (how, logs, expectedMessage) => {
      const key = archive.keyOfLog("binlog.000002");
      const bytes = store.read(key);
      if (how === "is damaged") store.flipByte(key, bytes.length - 1);
      if (how === "is not in the store") await store.delete(key);
      recipe(node, prepared(), logs());
      await setDesired(spec({ data: restored(2, 1) }), "failed");
      await store.put(key, bytes);
      expect(gateway.latest(node)?.message).toMatch(expectedMessage);
      nothingLeft();
      host.podman("kill", "--signal", "KILL", `moorage-${node}`);
      await until("SQL", () =>
        checksum().then(
          (found) => found.sum === whole.sum,
          () => false,
        ),
      );
      expect(gateway.latest(node)?.state).toBe("failed");
    },
  );

  test("the restored server has the current password, not the one at the time of the copy", async () => {
    const old = gateway.secrets.password;
    await setDesired(spec({ data: restored(1) }));
    gateway.secrets.password = "another ' horse";
    const credentials = { username: "dbadmin", version: 2 };
    await setDesired(spec({ data: restored(1), credentials }));
    recipe(node, base, archive.logs);
    await setDesired(spec({ data: restored(2, 1), credentials }));
    expect(await checksum()).toEqual(whole);
    await expect(query(1, "SELECT 1", old)).rejects.toThrow("Access denied");
    // Back on the old timeline, the password is the current one too.
    await setDesired(spec({ data: restored(1, 2), credentials: { ...credentials, version: 3 } }));
    expect(await checksum()).toEqual(whole);
    await expect(query(1, "SELECT 1", old)).rejects.toThrow("Access denied");
  });

  const points = ["volume", "fetch", "replay", "stop", "keep"].map((step) => `agent.restore.${step}`);
  points.push("agent.provision.switch", "agent.discard.trash");
  test.each(
    inTurn(
      points.map((point, index) => [point, index + 3] as const),
      3,
    ),
  )("an agent killed after %s finishes the restore when restarted", async (point, ordinal) => {
    const credentials = { username: "dbadmin", version: 3 };
    recipe(node, base, archive.logs);
    writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: point, mode: "kill-after" }));
    const desired = spec({ data: restored(ordinal), credentials });
    gateway.setDesired(...gateway.desired.nodes.filter((each) => (each as NodeSpec).node !== node), desired);
    await host.agentExit();
    host.startAgent(environment);
    await until("running", () => {
      const report = gateway.latest(node);
      return report?.state === "running" && report.generation === desired.generation;
    });
    await until("one volume", () => volumes().length === 1);
    expect(volumes()).toEqual([`${node}.${ordinal}.img`]);
    expect(await checksum()).toEqual(whole);
    expect(gateway.latest(node)?.timeline).toBe(timelineOf(ordinal));
    nothingLeft();
  });

  test("a tombstone aborts a restore, and all volumes of the node go to the trash", async () => {
    const latch = Promise.withResolvers<void>();
    gateway.recipes.set(`${node} data`, async () => {
      await latch.promise;
      throw new Error("too late");
    });
    gateway.setDesired(...gateway.desired.nodes, spec({ data: restored(30, 9) }));
    await until("the restore", () => gateway.latest(node)?.step?.startsWith("restore") === true);
    const buried = setDesired(spec({ data: restored(30, 9), tombstone: { operation: 1 } }), "gone");
    latch.resolve();
    await buried;
    expect(volumes()).toEqual([]);
    nothingLeft();
    expect(existsSync(join(host.state, "nodes", node))).toBe(false);
  });
});

describe("verification", () => {
  // Half a day away: no nightly copy begins during this test.
  const from = (new Date().getUTCHours() + 12) % 24;
  const archiveOf = { recipient: "age1", log_seconds: 3600, copy_hours: { from, to: from + 1 }, verify_days: 7 };
  const verified = randomUUID();

  test("restores and checks the newest point, reads all other objects, and reports damage", async () => {
    host.known(verified);
    const its = (change: Partial<NodeSpec> = {}) =>
      spec({ node: verified, network: networkOf(4), uid: 200_004, archive: archiveOf, ...change });
    const point = { backup: 7, at: new Date().toISOString() };
    const others = await Promise.all(archive.logs.map(async ({ url, sha256, bytes }) => ({ url, sha256, bytes })));
    const answer = async (scrub: Recipe["scrub"]): Promise<Recipe> => ({ point, base, logs: archive.logs, scrub });
    gateway.recipes.set(`${verified} verify`, () => answer(others));
    await setDesired(its());
    await until("a verification", () => gateway.verified.length === 1);
    expect(gateway.verified[0]).toMatchObject({ node: verified, timeline: timelineOf(0), point, ok: true });
    expect(gateway.verified[0]?.message).toContain(`1 tables with ${whole.n} rows`);
    expect(gateway.verified[0]?.message).toContain("3 objects");
    nothingLeft();

    // Another agent version makes a verification due at once.
    store.flipByte(archive.keyOfLog("binlog.000001"), 50);
    await host.stopAgent();
    const state = join(host.state, "nodes", verified, "state.json");
    writeFileSync(state, readFileSync(state, "utf8").replace(/"agent":"[^"]*"/, '"agent":"0.0.1"'));
    host.startAgent(environment);
    await until("another verification", () => gateway.verified.length === 2);
    store.flipByte(archive.keyOfLog("binlog.000001"), 50);
    expect(gateway.verified[1]).toMatchObject({
      ok: false,
      message: expect.stringMatching(/binlog.000001 is damaged/),
    });
    nothingLeft();
    expect(await query(4, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("encrypted data", () => {
  const marker = "a sentence that nobody else may read";

  test("are restored with their keys and are on no disk of the host in clear", async () => {
    const encrypted = { ...testSpec().database, encrypted: true };
    const its = (change: Partial<NodeSpec> = {}) =>
      spec({ node: secret, network: networkOf(3), uid: 200_003, database: encrypted, ...change });
    await setDesired(its());
    const vault = handMadeArchive(host, store, secret, { encrypted: true });
    await query(3, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, text TEXT)");
    await query(3, `INSERT INTO shop.t (text) VALUES ('${marker}')`);
    const copy = await vault.copy(join(host.state, "nodes", secret, "keyring", "0"));
    for (let i = 0; i < 6; i++) await query(3, `INSERT INTO shop.t (text) SELECT CONCAT('${marker}', id) FROM shop.t`);
    await vault.ship();
    const before = await checksum(3);
    await query(3, "DROP TABLE shop.t");

    for (const [ordinal, from] of [copy, prepared()].entries()) {
      recipe(secret, from, vault.logs);
      await setDesired(its({ data: restored(ordinal + 1, ordinal) }));
      expect(await checksum(3)).toEqual(before);
      const [table] = await query(3, "SHOW CREATE TABLE shop.t");
      expect(table?.["Create Table"]).toContain("ENCRYPTION='Y'");
    }
    sh("sync");
    expect(sh(`grep -rlF '${marker}' ${host.state} || true`)).toBe("");
    vault.close();
  });
});
