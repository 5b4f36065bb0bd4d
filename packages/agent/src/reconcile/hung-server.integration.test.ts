import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { GroupReport, NodeReport, NodeSpec } from "@moorage/contract/agent";
import type { RowDataPacket } from "mysql2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hostPaths, nodePaths } from "../base/host-paths.ts";
import { connect } from "../mysql/node-sql.ts";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { endPrimary } from "../testing/end-primary.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec, testTls } from "../testing/node-spec.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

let host: TestHost;
let gateway: FakeGateway;
// A server that is silent in two looks, 8 s apart, is unresponsive: a busy machine must not make it so.
const limits = { MOORAGE_UNRESPONSIVE_SECONDS: "8", MOORAGE_KILL_UNRESPONSIVE_SECONDS: "16" };

const [single, primary] = [randomUUID(), randomUUID()];
const members = [primary, randomUUID(), randomUUID()].map((node, ordinal) => ({
  node,
  ordinal,
  host: `host-${ordinal + 7}`,
  address: `198.18.98.${ordinal + 2}`,
}));
const specOf = (node: string, number: number, change: Partial<NodeSpec> = {}): NodeSpec =>
  testSpec({
    node,
    engine: builtEngine,
    uid: 200_000 + number,
    server_id: number,
    network: { address: host.address(number), port: 20_070 + number },
    ...change,
  });

beforeAll(async () => {
  host = await makeTestHost("moor-t-hng", "198.18.98");
  gateway = await startFakeGateway(host.outside, 14_447, enrolToken);
  for (const node of [single, primary]) host.known(node);
  const environment = agentEnvironment(host, gateway);
  host.startGatekeeper(environment);
  host.startAgent({ ...environment, ...limits });
  gateway.setDesired(
    specOf(single, 1),
    specOf(primary, 2, {
      database: { ...testSpec().database, cluster_size: 3, replication_type: "asynch" },
      tls: testTls,
      cluster: {
        replication: "asynch",
        group: randomUUID(),
        members,
        members_version: 1,
        primary: { node: primary, term: 1, reason: "sole_survivor" },
      },
    }),
  );
  await until("both servers", () => [single, primary].every((node) => gateway.latest(node)?.state === "running"));
});
afterAll(async () => {
  await host?.close();
  await gateway?.close();
});

/** Stops its server, which keeps its connections and its port, and does nothing. Returns the process. */
function freeze(node: string): number {
  const pid = host.serverPid(node);
  // To kill(2), 0 means the whole process group of the sender.
  if (!(pid > 1)) throw new Error(`The server of ${node} does not run.`);
  process.kill(pid, "SIGSTOP");
  return pid;
}
const reportsOf = (node: string, from: number): NodeReport[] =>
  gateway.reports.slice(from).filter((report) => report.node === node);

test("a server that hangs is reported as unresponsive, killed, and serves again", async () => {
  const from = gateway.reports.length;
  const frozen = freeze(single);
  const itsReport = () => reportsOf(single, from).find(({ unresponsive }) => unresponsive === true);
  await until("its report", () => itsReport() !== undefined);
  expect(itsReport()).toMatchObject({ state: "working", message: "The server does not answer." });
  await until(
    "another server",
    () => ![0, frozen].includes(host.serverPid(single)) && gateway.latest(single)?.state === "running",
  );
  expect(gateway.latest(single)?.unresponsive).toBeUndefined();
  expect(reportsOf(single, from).map(({ state }) => state)).not.toContain("failed");
});

test("a server that hangs only for a moment is left alone", async () => {
  const from = gateway.reports.length;
  const times = (liveness: string) => host.log().split(`"liveness":"${liveness}"`).length;
  const before = { silent: times("silent"), responsive: times("responsive") };
  const frozen = freeze(single);
  await until("the look", () => times("silent") > before.silent);
  process.kill(frozen, "SIGCONT");
  await until("the answer", () => times("responsive") > before.responsive);
  expect(host.serverPid(single)).toBe(frozen);
  expect(reportsOf(single, from).some(({ unresponsive }) => unresponsive === true)).toBe(false);
});

test("a server that refuses connections because all are in use is left alone", async () => {
  const [pid, from] = [host.serverPid(single), gateway.reports.length];
  const { socket } = nodePaths(hostPaths(host.state), single);
  // Not the agent's time limit: a busy server may be slow to refuse.
  const logIn = () => connect(socket, { connectTimeout: 120_000 });
  const held = [await logIn()];
  const [[before]] = (await held[0]?.query<RowDataPacket[]>("SELECT @@GLOBAL.max_connections AS most")) ?? [[]];
  await held[0]?.query("SET GLOBAL max_connections = 1");
  // An administrator is admitted beyond that.
  await expect(async () => {
    for (;;) held.push(await logIn());
  }).rejects.toMatchObject({ errno: 1040 });
  const start = performance.now();
  await until("the time after which a hung server is killed", () => performance.now() - start > 24_000);
  expect(host.serverPid(single)).toBe(pid);
  expect(reportsOf(single, from).some(({ unresponsive }) => unresponsive === true)).toBe(false);
  await held[0]?.query("SET GLOBAL max_connections = ?", [before?.["most"]]);
  for (const connection of held) connection.destroy();
});

test("a primary that hangs is killed and fenced, so that another member is promoted", async () => {
  const group = (): GroupReport | undefined => gateway.latest(primary)?.group;
  const frozen = await endPrimary(host, primary, "SIGSTOP", () => group()?.fenced === 1);
  expect(group()).toMatchObject({ state: "away", term: 1, fenced: 1 });
  // It has ended, whether or not its parent has noticed yet.
  expect(existsSync(`/proc/${frozen}/exe`)).toBe(false);
});
