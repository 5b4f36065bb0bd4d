import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { metricNames, type NodeSpec } from "@moorage/contract/agent";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { powerOffSteps } from "./reconcile/power-off-steps.ts";
import { stepNames } from "./base/run-steps.ts";
import { agentEnvironment, builtEngine, enrolToken } from "./testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "./testing/fake-gateway.ts";
import { testSpec } from "./testing/node-spec.ts";
import { enginesWithOtherImages, patchedFile } from "./testing/other-images.ts";
import { makeTestHost, type TestHost, until } from "./testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
let images: ReturnType<typeof enginesWithOtherImages>;
let generation = 0;
const node = randomUUID();
const container = `moorage-${node}`;
const port = 20_001;

beforeAll(async () => {
  host = await makeTestHost("moor-t-life", "198.18.94");
  gateway = await startFakeGateway(host.outside, 14494, enrolToken);
  images = enginesWithOtherImages(join(host.dir, "engines"));
  environment = {
    ...agentEnvironment(host, gateway),
    MOORAGE_ENGINES_DIR: images.enginesDir,
    MOORAGE_CRASH_DIR: host.crash,
  };
  host.known(node);
  host.startAgent(environment);
  await apply({});
  await query("CREATE DATABASE shop; CREATE TABLE shop.t (a INT); INSERT INTO shop.t VALUES (42)");
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

const setDesired = (change: Partial<NodeSpec>): void => {
  generation += 1;
  const network = { address: host.address(1), port };
  const firewall = { sources: [`${host.outside}/32`] };
  gateway.setDesired(testSpec({ node, engine: builtEngine, generation, network, firewall, ...change }));
};
const isReached = (state: string): boolean =>
  gateway.latest(node)?.state === state && gateway.latest(node)?.generation === generation;
const reached = (state: string, patienceMs?: number) =>
  until(`${state} at ${generation}`, () => isReached(state), patienceMs);
async function apply(change: Partial<NodeSpec>, state = "running"): Promise<void> {
  setDesired(change);
  await reached(state);
}

async function query(sql: string, connectTimeout = 120_000): Promise<unknown> {
  const connection = await createConnection({
    host: host.inside,
    port,
    user: "dbadmin",
    password: "correct horse ' battery",
    ssl: { rejectUnauthorized: false },
    connectTimeout,
    multipleStatements: true,
  });
  try {
    return (await connection.query(sql))[0];
  } finally {
    connection.destroy();
  }
}
const answers = () =>
  query("SELECT 1", 2000).then(
    () => true,
    () => false,
  );
const rows = () => query("SELECT a FROM shop.t");
const runningContainers = () => host.podman("ps", "--quiet").trim();
const failuresAt = (step: string) => host.log().split(`"message":"${step}: `).length;
const isMounted = () => existsSync(join(host.state, "nodes", node, "volume", "data"));

test("a powered-off node runs nothing, admits nobody and keeps its volume", async () => {
  await apply({ power: "off" }, "stopped");
  expect(runningContainers()).toBe("");
  expect(host.nft("list table inet moorage")).not.toContain(`db_${port}`);
  expect(await answers()).toBe(false);
  expect(readdirSync(join(host.state, "volumes"))).toEqual([`${node}.img`]);
});

test("a powered-off server that was started by hand is stopped again", async () => {
  const startedAt = () => host.podman("inspect", "--format", "{{.State.StartedAt}}", container).trim();
  const before = startedAt();
  host.podman("start", container);
  // The agent may be quicker than a listing of what runs.
  expect(startedAt()).not.toBe(before);
  await until("its end", () => runningContainers() === "");
});

test("a host that reboots leaves a powered-off node stopped", async () => {
  await host.reboot(() => {});
  host.startAgent(environment);
  const messagesBefore = gateway.messages.length;
  await until("a complete report", () => gateway.messages.slice(messagesBefore).some((message) => message.complete));
  await reached("stopped");
  expect(runningContainers()).toBe("");
  expect(isMounted()).toBe(false);
});

test("a node that is powered on again serves its data", async () => {
  await apply({});
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("an agent that dies at any step of a power-off completes it after its restart", async () => {
  for (const step of stepNames(powerOffSteps)) {
    writeFileSync(join(host.crash, "armed"), JSON.stringify({ step, mode: "kill-after" }));
    setDesired({ power: "off" });
    await host.agentExit();
    host.startAgent(environment);
    await reached("stopped");
    expect(`${step}: ${runningContainers()}`).toBe(`${step}: `);
    await apply({});
  }
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("the image is replaced with a short downtime, and the data stay", async () => {
  const started = performance.now();
  setDesired({ engine: { ...builtEngine, image: images.patched } });
  // A busy machine may miss the downtime.
  await until("the old server's end", async () => isReached("running") || !(await answers()));
  const down = performance.now();
  await until("the new server", answers);
  console.log(
    `patch: ${Math.round(down - started)} ms until it is down, ${Math.round(performance.now() - down)} ms of downtime`,
  );
  await reached("running");
  expect(host.podman("exec", container, "cat", patchedFile)).toBe("patched\n");
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("an image that is not on the host is refused at once, and the node keeps serving with the old one", async () => {
  await apply({ engine: { ...builtEngine, image: "f".repeat(64) } }, "failed");
  expect(gateway.latest(node)?.message).toContain("Install that version of the engine");
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("an image that does not start is reported as failed while desired; the old one then serves again", async () => {
  const before = gateway.reports.length;
  await apply({ engine: { ...builtEngine, image: images.empty } }, "failed");
  const firstFailed = gateway.reports.slice(before).findIndex(({ state }) => state === "failed") + before;
  const known = failuresAt("start");
  await until("two more tries", () => failuresAt("start") >= known + 2);
  expect(gateway.reports.slice(firstFailed).map(({ state }) => state)).not.toContain("working");

  await apply({ engine: { ...builtEngine, image: images.patched } });
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("a server that cannot start without a change is retried and never reported as failed", async () => {
  const file = join(host.state, "nodes", node, "volume", "data", "ibdata1");
  const before = gateway.reports.length;
  const known = failuresAt("ready");
  chmodSync(file, 0);
  host.podman("kill", "--signal", "KILL", container);
  await until("four tries", () => failuresAt("ready") >= known + 4);
  chmodSync(file, 0o640);
  await reached("running");
  expect(gateway.reports.slice(before).map(({ state }) => state)).not.toContain("failed");
});

test("a server started by a failed run is not reported as running before it answers", async () => {
  const fired = join(host.crash, "fired");
  const logPath = () => host.podman("inspect", container, "--format", "{{.HostConfig.LogConfig.Path}}").trim();
  let memory = 768;
  const isStoppedInTime = async (): Promise<boolean> => {
    rmSync(fired, { force: true });
    writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: "agent.provision.start", mode: "timeout" }));
    setDesired({ resources: { memory_mb: memory++, vcpus: 0.5, disk_mb: 2048 } });
    await until("the start", () => existsSync(fired));
    let server = 0;
    // To kill(1), 0 means the whole process group of the sender.
    await until("its process", () => {
      server = host.serverPid(node);
      return server > 1;
    });
    process.kill(server, "SIGSTOP");
    try {
      await sleep(500); // until its last words are in the log
      if (readFileSync(logPath(), "utf8").includes("ready for connections")) return false;
      await expect(reached("running", 4000)).rejects.toThrow("in vain");
      return true;
    } finally {
      process.kill(server, "SIGCONT");
      await reached("running");
    }
  };
  // On a busy machine it may answer before it is stopped: then the next plan's server is.
  await until("a server that is stopped before it answers", isStoppedInTime, 540_000);
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("a larger plan raises memory, processors, buffer pool and connections", async () => {
  const engine = { ...builtEngine, image: images.patched };
  await apply({ engine, resources: { memory_mb: 1024, vcpus: 0.5, disk_mb: 2048 } });
  expect(await query("SELECT @@innodb_buffer_pool_size / 1048576 AS pool, @@max_connections AS connections")).toEqual([
    { pool: "448.0000", connections: 112 },
  ]);
  const limits = host.podman("inspect", container, "--format", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}");
  expect(limits.trim()).toBe(`${1024 * 1048576} 500000000`);
  expect(await rows()).toEqual([{ a: 42 }]);
});

test("every metric of a running node is sent, and counters rise", async () => {
  /** The newest sample after that many. A server that is slow to answer leaves out its part of a sample. */
  const sampledAfter = (count: number) =>
    gateway.samples.slice(count).findLast((sample) => sample.node === node && "queries_total" in sample.values)?.values;
  const first = gateway.samples.length;
  await until("a sample", () => sampledAfter(first) !== undefined);
  const values = sampledAfter(first);
  expect(Object.keys(values ?? {}).sort()).toEqual(metricNames.map(({ name }) => name).sort());
  expect(values).toMatchObject({ memory_total_bytes: 1024 * 1048576, disk_total_bytes: 2048 * 1048576 });
  expect(values?.["memory_used_bytes"]).toBeGreaterThan(50 * 1048576);
  expect(values?.["memory_used_bytes"]).toBeLessThan(1024 * 1048576);
  expect(values?.["disk_used_bytes"]).toBeGreaterThan(10 * 1048576);

  for (let n = 0; n < 50; n++) await query("SELECT BENCHMARK(100000, SHA2('x', 256))");
  // The next one may have been taken before the queries.
  const second = gateway.samples.length + 1;
  await until("the next sample", () => sampledAfter(second) !== undefined);
  for (const [counter, growth] of [
    ["queries_total", 50],
    ["cpu_seconds_total", 0.1],
    ["sent_bytes_total", 1000],
  ] as const)
    expect((sampledAfter(second)?.[counter] ?? 0) - (values?.[counter] ?? 0)).toBeGreaterThan(growth);
});

test("a powered-off node is removed by a tombstone like any other", async () => {
  await apply({ power: "off" }, "stopped");
  await apply({ power: "off", tombstone: { operation: 5 } }, "gone");
  expect(host.podman("ps", "--all", "--quiet")).toBe("");
  expect(readdirSync(join(host.state, "volumes"))).toEqual([]);
  expect(readdirSync(join(host.state, "nodes"))).toEqual([]);
});
