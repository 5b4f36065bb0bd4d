import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type NodeSpec, signedText } from "@moorage/contract/agent";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { detachLoopDevices } from "./node/mounts.ts";
import { agentEnvironment, builtEngine, enrolToken } from "./testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "./testing/fake-gateway.ts";
import { testSpec } from "./testing/node-spec.ts";
import { makeTestHost, sh, type TestHost, until } from "./testing/test-host.ts";

const password = "correct horse ' battery";
const operator = generateKeyPairSync("ed25519");
let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
const first = randomUUID();
const networkOf = (n: number) => ({ address: host.address(n), port: 20_000 + n });
const spec = (change: Partial<NodeSpec>): NodeSpec =>
  testSpec({
    node: first,
    engine: builtEngine,
    network: networkOf(1),
    firewall: { sources: [`${host.outside}/32`] },
    ...change,
  });
const reached = (node: string, state: string, generation: number) =>
  until(`${state} at ${generation}`, () => {
    const report = gateway.latest(node);
    return report?.state === state && report.generation === generation;
  });

async function query(node: number, sql: string, connectTimeout = 120_000): Promise<unknown> {
  const connection = await createConnection({
    host: host.inside,
    port: networkOf(node).port,
    user: "dbadmin",
    password,
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
const answersAgain = (node: number) =>
  until("SQL", () =>
    query(node, "SELECT 1", 5000).then(
      () => true,
      () => false,
    ),
  );

/** The agent has written the newest revision to its disk. */
const taken = () =>
  until("the revision to be taken", () => {
    const record = JSON.parse(readFileSync(join(host.state, "host.json"), "utf8")) as { revision: number };
    return record.revision === gateway.desired.revision;
  });

beforeAll(async () => {
  host = await makeTestHost("moor-t-agent", "198.18.77", { bare: true });
  gateway = await startFakeGateway(host.outside, 14443, enrolToken);
  environment = {
    ...agentEnvironment(host, gateway, operator.publicKey),
    MOORAGE_DELETIONS_PER_WINDOW: "1",
    // Longer than these tests may take.
    MOORAGE_DELETION_WINDOW_SECONDS: "86400",
  };
  host.known(first);
  host.startAgent(environment);
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

describe("an agent on a real host", () => {
  test("a desired node starts and answers SQL from outside with the tenant's password", async () => {
    gateway.setDesired(spec({}));
    await reached(first, "running", 1);
    const rows = await query(1, "SELECT @@server_id AS id, @@gtid_executed AS gtids, CURRENT_USER() AS me");
    // The password is not in the binary log, so a new node has no transaction of its own.
    expect(rows).toEqual([{ id: 1, gtids: "", me: "dbadmin@%" }]);
    expect(gateway.latest(first)?.used_disk_mb).toBeGreaterThan(10);
    await query(1, "CREATE DATABASE shop; CREATE TABLE shop.t (a INT); INSERT INTO shop.t VALUES (42)");
  });

  // Certificates of this gateway are six days old.
  test("a host certificate with less than a third of its week left is renewed and used", async () => {
    await vi.waitFor(() => expect(gateway.requestedPaths).toContain("/v1/renew"), { timeout: 120_000 });
    const renewed = gateway.requestedPaths.lastIndexOf("/v1/renew");
    await vi.waitFor(() => expect(gateway.requestedPaths.slice(renewed)).toContain("/v1/desired"), {
      timeout: 120_000,
    });
  });

  test("a killed server is restarted with its data", async () => {
    host.podman("kill", "--signal", "KILL", `moorage-${first}`);
    await answersAgain(1);
    expect(await query(1, "SELECT a FROM shop.t")).toEqual([{ a: 42 }]);
  });

  test("a missing node, an older generation and a control plane that was set back change nothing", async () => {
    gateway.setDesired();
    await taken();
    gateway.setDesired(spec({ generation: 1, epoch: 0, tombstone: { operation: 1 } }));
    const revision = gateway.desired.revision;
    await taken();
    gateway.desired.revision = 0;
    gateway.desired.nodes = [spec({ generation: 99, tombstone: { operation: 1 } })];
    await until("the refusal", () => host.log().includes("the control plane was set back"));
    gateway.desired.nodes = [];
    gateway.desired.revision = revision;
    expect(await query(1, "SELECT a FROM shop.t")).toEqual([{ a: 42 }]);
  });

  test("the last statement of the control plane is shown again", async () => {
    const told = { epoch: 1, revision: 3, position: { server: "7", timeline: 1, lsn: 4096 }, seal: "k1.code" };
    gateway.desired.told = told;
    await vi.waitFor(() => expect(gateway.polled).toMatchObject({ told }), { timeout: 120_000 });
    gateway.desired.told = undefined;
  });

  test("the revoked keys of hosts are kept for the gatekeeper, and their version is sent back", async () => {
    const revoked = { version: "one key", keys: ["a".repeat(64)] };
    gateway.desired.revoked = revoked;
    await vi.waitFor(() => expect(gateway.polled.revoked).toBe("one key"), { timeout: 120_000 });
    expect(JSON.parse(readFileSync(join(host.state, "revoked-keys.json"), "utf8"))).toEqual(revoked);
    gateway.desired.revoked = undefined;
  });

  test("a spec with an unknown field is reported as unsupported, and the node keeps running as before", async () => {
    gateway.setDesired({ ...spec({ generation: 2 }), tombstone: { operation: 1 }, turbo: true });
    await reached(first, "unsupported", 2);
    expect(gateway.latest(first)?.message).toContain("turbo");
    expect(await query(1, "SELECT a FROM shop.t")).toEqual([{ a: 42 }]);
  });

  test("a digest reports every node with its spec", async () => {
    gateway.desired.digest = true;
    await until("the digest", () => gateway.messages.some((message) => message.digest === 1));
    gateway.desired.digest = false;
    const digest = gateway.messages.findLast((message) => message.digest === 1);
    expect(digest?.nodes.find((node) => node.node === first)?.spec?.generation).toBe(1);
  });

  test("without a gateway, a host restores container, namespace and mount of a node from its disk", async () => {
    await host.stopAgent();
    await gateway.close();
    host.podman("rm", "--force", "--time", "0", `moorage-${first}`);
    sh(`ip netns delete moor-n-${first.slice(0, 8)}`);
    sh(`umount ${join(host.state, "nodes", first, "volume")}`);
    await detachLoopDevices(join(host.state, "volumes", `${first}.img`));
    host.startAgent(environment);
    await answersAgain(1);
    expect(await query(1, "SELECT a FROM shop.t")).toEqual([{ a: 42 }]);
    const messagesBefore = gateway.messages.length;
    await gateway.open();
    // The restart did not lose the newer spec that the agent cannot read either.
    await until("a complete report", () => gateway.messages.slice(messagesBefore).some((message) => message.complete));
    expect(gateway.polled.told).toMatchObject({ position: { lsn: 4096 } });
    expect(gateway.latest(first)).toMatchObject({ state: "unsupported", generation: 2 });
  });

  test("a tombstone leaves only the trash, and a repeated one is answered again", async () => {
    gateway.setDesired(spec({ generation: 3, tombstone: { operation: 5 } }));
    await reached(first, "gone", 3);
    expect(host.podman("ps", "--all", "--quiet")).toBe("");
    expect(existsSync(`/run/netns/moor-n-${first.slice(0, 8)}`)).toBe(false);
    // A container that starts elsewhere on the machine holds all mounts for a moment.
    await expect.poll(() => sh("losetup -a")).not.toContain(host.dir);
    expect(readdirSync(join(host.state, "nodes"))).toEqual([]);
    expect(readdirSync(join(host.state, "volumes"))).toEqual([]);
    expect(readdirSync(join(host.state, "specs"))).toEqual([]);
    const [trash] = readdirSync(join(host.state, "trash"));
    expect(readdirSync(join(host.state, "trash", trash ?? "")).sort()).toEqual(["spec.json", "volume.img"]);

    gateway.setDesired(spec({ generation: 4, tombstone: { operation: 5 } }));
    await reached(first, "gone", 4);
    gateway.setDesired(spec({ generation: 2 }));
    await taken();
    expect(readdirSync(join(host.state, "specs"))).toEqual([]);
  });

  test("a deletion beyond the host's limit is held until the operator's signed allowance arrives", async () => {
    const second = randomUUID();
    host.known(second);
    const network = networkOf(2);
    gateway.setDesired(spec({ node: second, network }));
    await reached(second, "running", 1);
    gateway.setDesired(spec({ node: second, network, generation: 2, tombstone: { operation: 6 } }));
    await reached(second, "held", 2);
    expect(gateway.latest(second)?.message).toContain("moorage admin host allow-deletions");
    expect(await query(2, "SELECT 1 AS one")).toEqual([{ one: 1 }]);

    const hour = 3_600_000;
    const text = {
      host: 7,
      count: 1,
      from: new Date(Date.now() - hour).toISOString(),
      until: new Date(Date.now() + hour).toISOString(),
    };
    const signature = sign(null, Buffer.from(signedText(text)), operator.privateKey).toString("base64");
    gateway.desired.allowance = { ...text, signature };
    await reached(second, "gone", 2);
  });

  test("a node whose engine is not on the host fails, and the message names the remedy", async () => {
    const third = randomUUID();
    host.known(third);
    gateway.setDesired(spec({ node: third, engine: { ...builtEngine, prepared: "0".repeat(64) } }));
    await reached(third, "failed", 1);
    expect(gateway.latest(third)?.message).toContain("Install that version of the engine");
  });
});
