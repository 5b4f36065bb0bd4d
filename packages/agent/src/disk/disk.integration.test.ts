import { randomUUID } from "node:crypto";
import { statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, sh, type TestHost, until } from "../testing/test-host.ts";
import { imageMb } from "../node/volume.ts";

let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
const node = randomUUID();
const port = 20_001;
const planMb = 1024;
const resources = { memory_mb: 512, vcpus: 1, disk_mb: planMb };

const spec = (change: Partial<NodeSpec> = {}): NodeSpec =>
  testSpec({
    node,
    engine: builtEngine,
    network: { address: host.address(1), port },
    firewall: { sources: [`${host.outside}/32`] },
    resources,
    ...change,
  });
const volume = () => join(host.state, "nodes", node, "volume");
const socket = () => join(host.state, "nodes", node, "run", "mysqld.sock");
const duMb = () => Number(sh(`du --summarize --block-size=1M ${volume()}`).split("\t")[0]);
const usedMb = () => {
  const { blocks, bfree, bsize } = statfsSync(volume());
  return ((blocks - bfree) * bsize) / 1024 ** 2;
};
const disk = () => gateway.latest(node)?.disk;
const reportedStates = () =>
  gateway.reports.flatMap((report) => report.disk ?? []).filter((state, index, all) => state !== all[index - 1]);

const logIn = (connectTimeout = 120_000): Promise<Connection> =>
  createConnection({
    host: host.inside,
    port,
    user: "dbadmin",
    password: "correct horse ' battery",
    ssl: { rejectUnauthorized: false },
    connectTimeout,
  });
async function query(sql: string, connectTimeout?: number): Promise<unknown> {
  const connection = await logIn(connectTimeout);
  try {
    return (await connection.query(sql))[0];
  } finally {
    connection.destroy();
  }
}
const serves = (sql: string, connectTimeout = 5000) =>
  query(sql, connectTimeout).then(
    () => true,
    () => false,
  );
const rootQuery = (sql: string) => withPatientRoot(socket(), async (root) => (await root.query(sql))[0] as unknown);
const startedAt = () => host.podman("inspect", "--format", "{{.State.StartedAt}}", `moorage-${node}`);

beforeAll(async () => {
  host = await makeTestHost("moor-t-disk", "198.18.97");
  gateway = await startFakeGateway(host.outside, 14497, enrolToken);
  environment = agentEnvironment(host, gateway);
  host.known(node);
  host.startAgent(environment);
  gateway.setDesired(spec());
  await until("the node", () => gateway.latest(node)?.state === "running");
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

test("the image file has the plan's size plus a reserve, and the reported use matches `du`", async () => {
  expect(statSync(join(host.state, "volumes", `${node}.img`)).size).toBe(imageMb(planMb) * 1024 * 1024);
  await until("the disk's state", () => disk() === "ok");
  expect(Math.abs((gateway.latest(node)?.used_disk_mb ?? 0) - duMb())).toBeLessThan(64);
});

/** Writes slowly on a disk that is nearly full: an agent that does not run for seconds is in time all the same. */
async function slowDown(): Promise<void> {
  const isLow = () => usedMb() > planMb * 0.93;
  if (!isLow()) return;
  await until("the first warning", () => disk() !== "ok" || !isLow());
  await sleep(150);
}

/** The numbers whose insert was acknowledged. Each row is about 640 KB, and so is its part of the binary log. */
async function writeUntilRefused(): Promise<{ acknowledged: number[]; refusal: Error }> {
  const connection = await logIn();
  const acknowledged: number[] = [];
  try {
    for (let n = 1; ; n++) {
      await connection.query("INSERT INTO shop.t VALUES (?, REPEAT(SHA2(?, 256), 10000))", [n, n]);
      acknowledged.push(n);
      await slowDown();
    }
  } catch (error) {
    return { acknowledged, refusal: error as Error };
  } finally {
    connection.destroy();
  }
}

let rows: number[] = [];

test("a disk that fills up is reported low, then read-only, and no acknowledged row is lost", async () => {
  await query("CREATE DATABASE shop");
  await query("CREATE TABLE shop.t (n INT PRIMARY KEY, x LONGTEXT)");
  const started = startedAt();
  const { acknowledged, refusal } = await writeUntilRefused();
  rows = acknowledged;
  expect(refusal.message).toContain("read-only");
  await until("the report", () => disk() === "read_only");
  expect(reportedStates()).toEqual(["ok", "low", "read_only"]);
  const used = duMb();
  process.stdout.write(`refused with ${used} MB of ${planMb} used, after ${acknowledged.length} rows\n`);
  expect(used).toBeGreaterThan(planMb * 0.94);
  expect(used).toBeLessThan(planMb * 1.05);
  expect(await query("SELECT COUNT(*) AS n, MAX(n) AS last FROM shop.t")).toEqual([
    { n: acknowledged.length, last: acknowledged.at(-1) },
  ]);
  expect(startedAt()).toBe(started);
  expect(gateway.latest(node)?.state).toBe("running");
});

test("a full database stays read-only across restarts of the agent and the server, without one write", async () => {
  await host.stopAgent("SIGKILL");
  host.startAgent(environment);
  const connection = await logIn();
  await expect(connection.query("DELETE FROM shop.t WHERE n = 1")).rejects.toThrow(/read-only/);
  connection.destroy();
  let tries = 0;
  let written = 0;
  let trying = true;
  const writer = (async () => {
    for (; trying; tries++) if (await serves("DELETE FROM shop.t WHERE n = 1")) written += 1;
  })();
  const before = startedAt();
  host.podman("kill", "--signal", "KILL", `moorage-${node}`);
  await until("another start", () => {
    try {
      return startedAt() !== before;
    } catch {
      return false; // the container is being replaced
    }
  });
  await until("SQL", () => serves("SELECT 1"));
  const triesBefore = tries;
  await until("more tries", () => tries > triesBefore + 20);
  trying = false;
  await writer;
  expect(written).toBe(0);
});

test("the password of a full database can be changed", async () => {
  gateway.setDesired(spec({ generation: 2, credentials: { username: "dbadmin", version: 2 } }));
  await until("the change", () => gateway.latest(node)?.generation === 2 && gateway.latest(node)?.state === "running");
  expect(await rootQuery("SELECT @@GLOBAL.read_only AS readOnly")).toEqual([{ readOnly: 1 }]);
});

test("a plan with more disk grows the volume and makes the database writable again, with every row", async () => {
  const started = performance.now();
  gateway.setDesired(
    spec({
      generation: 3,
      credentials: { username: "dbadmin", version: 2 },
      resources: { ...resources, disk_mb: 2 * planMb },
    }),
  );
  await until("writes", () => serves("REPLACE INTO shop.t VALUES (0, 'after')"));
  process.stdout.write(`writable ${(performance.now() - started).toFixed(0)} ms after the bigger plan was desired\n`);
  await until("the report", () => disk() === "ok");
  // The volume grows while the server runs; the rest of the plan applies from its next start.
  await until("the plan", () => gateway.latest(node)?.generation === 3 && gateway.latest(node)?.state === "running");
  expect(await query("SELECT COUNT(*) AS n FROM shop.t")).toEqual([{ n: rows.length + 1 }]);
  const { blocks, bsize } = statfsSync(volume());
  expect((blocks * bsize) / 1024 ** 2).toBeGreaterThan(2 * planMb);
});

test("a statement that would fill the disk is killed, and the server never waits for space", async () => {
  const { length } = rows;
  const copies = "SELECT 1 AS k UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6";
  const connection = await logIn();
  // About 100 MB/s, and 10 MB/s near the limit, so that a busy test machine does not decide whether the agent acts
  // before the disk is full.
  const quickRows = Math.floor((2 * planMb * 0.9 - usedMb()) / 0.7);
  await connection.query("SET @copied = 0");
  const copying = connection.query(
    `INSERT INTO shop.t SELECT n + 1000000 * k, x FROM shop.t, (${copies}) AS copies
     WHERE SLEEP(IF((@copied := @copied + 1) < ${quickRows}, 0.005, 0.05)) = 0`,
  );
  await expect(copying).rejects.toThrow(/interrupted/);
  connection.destroy();
  await until("read-only", () => disk() === "read_only");
  expect(await query(`SELECT COUNT(*) AS n FROM shop.t WHERE n <= ${length}`)).toEqual([{ n: length + 1 }]);
  expect(sh(`cat ${host.dir}/podman/overlay-containers/*/userdata/ctr.log`)).not.toMatch(/Disk is full|No space left/);
});

test("a volume that is filled beyond its reserve grows by itself", async () => {
  const before = statSync(join(host.state, "volumes", `${node}.img`)).size;
  const freeMb = () => (statfsSync(volume()).bfree * statfsSync(volume()).bsize) / 1024 ** 2;
  sh(`dd if=/dev/zero of=${volume()}/runaway bs=1M count=${Math.floor(freeMb()) - 40} status=none`);
  await until("the growth", () => statSync(join(host.state, "volumes", `${node}.img`)).size > before);
  await until("room", () => freeMb() > 96);
  sh(`rm ${volume()}/runaway`);
  expect(await serves("SELECT 1", 120_000)).toBe(true);
});
