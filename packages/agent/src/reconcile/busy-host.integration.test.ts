import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { clonesPerHost, type Cluster, type Member, type NodeReport, type NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtEngine } from "../testing/agent-environment.ts";
import { endPrimary } from "../testing/end-primary.ts";
import { testSpec, testTls } from "../testing/node-spec.ts";
import { withPatientRoot } from "../testing/patient-root.ts";
import { until } from "../testing/test-host.ts";
import { makeThreeHosts, type ThreeHosts } from "../testing/three-hosts.ts";

/** A host whose four new members clone their data from members on another host, which sends nothing. */
let three: ThreeHosts;
const [donating, receiving] = [0, 2] as const;
const count = 4;
const specs = new Map<string, { host: number; spec: NodeSpec }>();
let port = 20_060;

const hostOf = (index: number) => three.hosts[index] as ThreeHosts["hosts"][number];
const latest = (node: string): NodeReport | undefined => hostOf(specs.get(node)?.host ?? 0).gateway.latest(node);

function send(): void {
  for (const host of [donating, receiving])
    hostOf(host).gateway.setDesired(
      ...[...specs.values()].filter((each) => each.host === host).map(({ spec }) => spec),
    );
}

function add(host: number, more: Partial<NodeSpec> = {}): string {
  const node = more.node ?? randomUUID();
  const number = specs.size + 1;
  hostOf(host).known(node);
  const spec = testSpec({
    node,
    engine: builtEngine,
    uid: 200_000 + number,
    server_id: number,
    network: { address: hostOf(host).address(number), port: port++ },
    ...more,
  });
  specs.set(node, { host, spec });
  return node;
}

function change(node: string, to: Partial<NodeSpec>): void {
  const known = specs.get(node);
  if (known === undefined) throw new Error("no such node");
  specs.set(node, { ...known, spec: { ...known.spec, ...to, generation: known.spec.generation + 1 } });
  send();
}

/** A cluster with its first member on one host, its last one on the other, and a third one nowhere. */
function addCluster(of: Partial<Cluster>, donor: Partial<Cluster> | undefined): { donor: string; receiver: string } {
  const group = randomUUID();
  const members = three.members.map((member): Member => ({ ...member, node: randomUUID() }));
  const [first, last] = [members[donating]?.node ?? "", members[receiving]?.node ?? ""];
  const common = { replication: "semi_synch", group, members, members_version: 1, ...of } as const;
  const clusterPort = port++;
  const addMember = (host: number, node: string, more: Partial<NodeSpec>): void => {
    const ordinal = host;
    const address = hostOf(host).address(specs.size + 1);
    const database = { ...testSpec().database, cluster_size: 3, replication_type: common.replication };
    add(host, { node, ordinal, database, tls: testTls, network: { address, port: clusterPort }, ...more });
  };
  if (donor !== undefined) addMember(donating, first, { cluster: { ...common, ...donor } });
  const origin = donor === undefined ? "prepared" : "cluster";
  addMember(receiving, last, { cluster: common, data: { timeline: group, ordinal: 0, origin } });
  return { donor: first, receiver: last };
}

const running = (node: string): boolean => latest(node)?.state === "running";
const serverPid = (node: string): number => hostOf(specs.get(node)?.host ?? 0).serverPid(node);
const sql = (node: string, statement: string) =>
  withPatientRoot(
    join(hostOf(specs.get(node)?.host ?? 0).state, "nodes", node, "run", "mysqld.sock"),
    async (connection) => (await connection.query({ sql: statement, timeout: 120_000 }))[0],
  );
const answers = (node: string): Promise<boolean> =>
  sql(node, "SELECT 1").then(
    () => true,
    () => false,
  );

/** Until a killed server answers again. */
async function restartMs(node: string): Promise<number> {
  const before = serverPid(node);
  const started = performance.now();
  // To kill(2), 0 means the whole process group of the sender.
  if (!(before > 1)) throw new Error(`The server of ${node} does not run.`);
  process.kill(before, "SIGKILL");
  await until("another server", async () => ![0, before].includes(serverPid(node)) && (await answers(node)));
  return Math.round(performance.now() - started);
}

const table = "moorage-test-stall";
/** The donors answer, and stop in the middle of their data; the gatekeepers see each other. */
const stall = () =>
  hostOf(donating).nft(
    `'add table inet ${table}; add chain inet ${table} out { type filter hook postrouting priority -400; };
      add rule inet ${table} out tcp sport 19443 accept; add rule inet ${table} out tcp dport 19443 accept;
      add rule inet ${table} out oifname lan0 meta l4proto tcp quota over 500 kbytes drop'`,
  );
const flow = () => hostOf(donating).nft(`delete table inet ${table}`);

const waitingFor = (text: string): string[] =>
  clones.map(({ receiver }) => receiver).filter((node) => latest(node)?.message?.includes(text));

let single: string;
/** Like `single`, on the host that clones nothing. */
let control: string;
let removed: string;
let primary: string;
const clones: { donor: string; receiver: string }[] = [];

beforeAll(async () => {
  three = await makeThreeHosts("moor-t-bus", { subnets: [72, 73, 74], lan: 75, port: 20_059 });
  await until("the gateways", () => three.hosts.every(({ gateway }) => gateway.requestedPaths.length > 0));
  [single, control, removed] = [add(receiving), add(donating), add(receiving)];
  const asynchronous = addCluster({ replication: "asynch" }, undefined);
  primary = asynchronous.receiver;
  const known = specs.get(primary);
  if (known?.spec.cluster === undefined) throw new Error("no cluster");
  known.spec.cluster.primary = { node: primary, term: 1, reason: "sole_survivor" };
  for (let made = 0; made < count; made++) clones.push(addCluster({}, { bootstrap: randomUUID() }));
  const receivers = clones.map(({ receiver }) => ({ receiver, known: specs.get(receiver) }));
  for (const { receiver } of receivers) specs.delete(receiver);
  send();
  await until("the other nodes", () => [...specs.keys()].every(running));
  stall();
  for (const each of receivers) if (each.known !== undefined) specs.set(each.receiver, each.known);
  send();
  await cloningNow();
  await until("those that wait", () => waitingFor("re-clones of this host").length === count - clonesPerHost);
});
afterAll(async () => {
  await three?.close();
});

/** The members that clone. A clone that gets no data for 45 s ends, and the next one begins. */
async function cloningNow(): Promise<string[]> {
  const cloning = () => waitingFor("the data of another member");
  await until("as many clones as there may be", () => cloning().length === clonesPerHost);
  return cloning();
}

test("a killed server is restarted while four members of the host clone from a donor that sends nothing", async () => {
  // At the same time: how busy the machine is changes from one moment to the next.
  const [ms, controlMs] = await Promise.all([restartMs(single), restartMs(control)]);
  console.log(`a killed server answers again: ${ms} ms; ${controlMs} ms on a host without clones`);
  expect(ms).toBeLessThan(3 * controlMs + 20_000);
  await cloningNow();
});

test("a dead asynchronous primary is fenced meanwhile", async () => {
  const started = performance.now();
  await endPrimary(hostOf(receiving), primary, "SIGKILL", () => latest(primary)?.group?.fenced === 1);
  console.log(`fenced: ${Math.round(performance.now() - started)} ms`);
  expect(await cloningNow()).toHaveLength(clonesPerHost);
});

test("an allow list is applied meanwhile, also that of a member that is cloning", async () => {
  const [host, [member = ""]] = [hostOf(receiving), await cloningNow()];
  for (const [node, address] of [
    [single, "192.0.2.77"],
    [member, "192.0.2.78"],
  ] as const) {
    change(node, { firewall: { sources: [`${address}/32`] } });
    await until("the list", () => host.nft("list ruleset").includes(address));
  }
  expect(await cloningNow()).toHaveLength(clonesPerHost);
});

test("a tombstone is carried out meanwhile, also that of a member that is cloning", async () => {
  change(removed, { tombstone: { operation: 1 } });
  await until("the end of a node", () => latest(removed)?.state === "gone");
  const [ended = ""] = await cloningNow();
  change(ended, { tombstone: { operation: 2 } });
  await until("the end of a member", () => latest(ended)?.state === "gone");
  // Its place is taken by the next one.
  const now = () => waitingFor("the data of another member");
  await until("another clone", () => now().length === clonesPerHost);
  expect(now()).not.toContain(ended);
});

test("the clones that are left end, one after the other, once their donors send again", async () => {
  flow();
  const left = clones.map(({ receiver }) => receiver).filter((node) => latest(node)?.state !== "gone");
  expect(left).toHaveLength(count - 1);
  await until("the clones", () => left.every((node) => latest(node)?.group?.state === "online" && running(node)));
});
