import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, type NodeReport, signedText } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec, testTls } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
let generation = 0;
const operator = generateKeyPairSync("ed25519");
const node = randomUUID();
const [group, timeline] = [randomUUID(), randomUUID()];
const absent = [randomUUID(), randomUUID()];

/** One member of a cluster whose other members do not exist. */
function setDesired(orders: Partial<Cluster> = {}): void {
  const members = [node, ...absent].map((each, ordinal) => ({
    node: each,
    ordinal,
    host: `host-${ordinal + 7}`,
    address: ordinal === 0 ? host.inside : `198.18.87.${ordinal + 240}`,
  }));
  generation += 1;
  gateway.setDesired(
    testSpec({
      node,
      generation,
      engine: builtEngine,
      network: { address: host.address(1), port: 20_001 },
      resources: { memory_mb: 1024, vcpus: 1, disk_mb: 2048 },
      data: { timeline, ordinal: 0, origin: "prepared" },
      database: { ...testSpec().database, cluster_size: 3, replication_type: "semi_synch" },
      tls: testTls,
      cluster: { replication: "semi_synch", group, members, members_version: 1, ...orders },
    }),
  );
}
const latest = (): NodeReport | undefined => gateway.latest(node);
const isAt = (state: NodeReport["state"]) => latest()?.state === state && latest()?.generation === generation;
const counted = () =>
  (JSON.parse(readFileSync(join(host.state, "host.json"), "utf8")) as { deletions: { kind: string; id: string }[] })
    .deletions;
const filesIn = (folder: string): string[] => readdirSync(join(host.state, folder));
const query = (sql: string) =>
  withPatientRoot(nodePaths(hostPaths(host.state), node).socket, async (connection) => connection.query(sql));

beforeAll(async () => {
  host = await makeTestHost("moor-t-dlim", "198.18.87");
  gateway = await startFakeGateway(host.outside, 14_487, enrolToken);
  const environment = {
    ...agentEnvironment(host, gateway, operator.publicKey),
    MOORAGE_DELETIONS_PER_WINDOW: "2",
    // Longer than these tests may take.
    MOORAGE_DELETION_WINDOW_SECONDS: "86400",
  };
  host.known(node);
  host.startAgent(environment);
  host.startGatekeeper(environment);
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

test("a re-clone of a member that never served is not counted: it has nothing to lose", async () => {
  setDesired({ reclone: { id: randomUUID() } });
  await until("its wait for a donor", () => latest()?.message?.includes("whose data can be cloned") ?? false);
  expect(counted()).toEqual([]);
});

test("discarded timelines are counted, and those beyond the limit stay while the node serves and says so", async () => {
  setDesired({ bootstrap: randomUUID() });
  await until("a member that serves", () => isAt("running"));
  await query("CREATE DATABASE shop");
  for (const ordinal of [1, 2, 3]) writeFileSync(join(host.state, "volumes", `${node}.${ordinal}.img`), "");

  await until("what is held", () => latest()?.message?.includes("timeline 3") ?? false);
  expect(latest()).toMatchObject({ state: "running", message: expect.stringContaining("allow-deletions") });
  expect(filesIn("trash")).toHaveLength(2);
  expect(filesIn("volumes").sort()).toEqual([`${node}.3.img`, `${node}.img`]);
  expect(counted()).toMatchObject([
    { kind: "timeline", id: "1" },
    { kind: "timeline", id: "2" },
  ]);
});

test("a re-clone beyond the limit is held, and the member keeps serving with its data, also after a crash", async () => {
  const bootstrap = randomUUID();
  setDesired({ reclone: { id: randomUUID() }, bootstrap });
  await until("the held re-clone", () => isAt("held"));
  expect(latest()?.message).toContain("The re-clone of this member");
  await expect.poll(() => latest()?.group).toMatchObject({ state: "online", role: "primary" });

  host.podman("kill", "--signal", "KILL", `moorage-${node}`);
  await until(
    "a group again",
    () => latest()?.group?.state === "online" && latest()?.group?.bootstrapped === bootstrap,
  );
  await until("the held re-clone", () => isAt("held"));
  // A primary is closed to writes for a moment after its group has started.
  await until("a write", () =>
    query("CREATE TABLE IF NOT EXISTS shop.t (a INT PRIMARY KEY)").then(
      () => true,
      () => false,
    ),
  );

  setDesired();
  await until("its end", () => isAt("running"));
});

test("a signed allowance lets what is held go on", async () => {
  const hour = 3_600_000;
  const [from, until_] = [-hour, hour].map((ms) => new Date(Date.now() + ms).toISOString()) as [string, string];
  const text = { host: 7, count: 1, from, until: until_ };
  const signature = sign(null, Buffer.from(signedText(text)), operator.privateKey).toString("base64");
  gateway.desired.allowance = { ...text, signature };
  await until("the trash", () => filesIn("volumes").length === 1);
  await until("nothing held", () => isAt("running") && latest()?.message === undefined);
  expect([filesIn("volumes"), filesIn("trash").length]).toEqual([[`${node}.img`], 3]);
});
