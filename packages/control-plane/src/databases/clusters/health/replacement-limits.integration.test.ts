import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { trials } from "@moorage/testkit/turns.ts";
import { sql } from "kysely";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_PLAN, offerClusterPlan, pollAll } from "#testing/active-database.ts";
import { pollingAgents } from "#testing/cluster-on-agents.ts";
import { until } from "#testing/database-on-agent.ts";
import { leaveGroup, simulateMember } from "#testing/simulated-group.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { HOST_SILENT_SECONDS, newWorld, type World } from "#testing/world.ts";
import { addReplacementsGauge, areTooManySilent } from "./replacement-limits.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const CLUSTERS = trials({ short: 12, all: 40 });
const LIMIT = 5;
const CLONES_PER_HOST = 2;
const [LOST, SPARE] = [2, [3, 4]] as const;
const names = { publishDnsRecords: async () => {}, withdrawDnsRecords: async () => {} };

/** Simulated members whose clones take a while, and how many of them each host makes at once. */
function slowClones() {
  const lost = new Set<string>();
  const left = new Map<string, number>();
  const now = new Map<string, Set<string>>();
  const seen = { most: 0, done: 0 };
  const instead = (spec: NodeSpec): Partial<NodeReport> => {
    if (lost.has(spec.node)) return { group: { state: "away", online: 0, shared: false } };
    const own = spec.cluster?.members.find(({ node }) => node === spec.node);
    if (spec.cluster?.reclone === undefined || own === undefined) return simulateMember(spec);
    const cloning = now.get(own.host) ?? new Set();
    now.set(own.host, cloning);
    const polls = left.get(spec.node) ?? 3;
    left.set(spec.node, polls - 1);
    if (polls > 0) {
      seen.most = Math.max(seen.most, cloning.add(spec.node).size);
      return { state: "working", group: { state: "away", online: 0, shared: false } };
    }
    if (cloning.delete(spec.node)) seen.done += 1;
    return simulateMember(spec);
  };
  return { instead, lost, seen };
}

async function manyClusters(world: World, agents: Parameters<typeof pollAll>[0]): Promise<void> {
  const limits = { databases: 100, nodes: 300, memory_mb: 1_000_000, disk_mb: 10_000_000 };
  const alice = await world.customer({ limits });
  await offerClusterPlan(world);
  const operations: number[] = [];
  for (let made = 0; made < CLUSTERS; made++) {
    expect((await alice.create({ type: CLUSTER_PLAN, cluster_size: 3 })).status).toBe(200);
    const { id } = await world.lastOperation();
    await world.activities.setDesiredNodes(id);
    operations.push(id);
  }
  await pollAll(agents);
  for (const id of operations) await world.activities.endChange(id, { done: true });
}

const reserveAll = (world: World, ids: readonly number[], isReserved: boolean) =>
  world.db
    .updateTable("hosts")
    .set({ reserved_memory_mb: isReserved ? sql`memory_mb` : 0 })
    .where("id", "in", ids)
    .execute();

test(`${CLUSTERS} clusters that lose one host are all healthy again, two clones to a host and five in the region at a time`, async () => {
  await using world = await newWorld({ replacementsPerRegion: LIMIT });
  const { instead, lost, seen } = slowClones();
  const options = { memory_mb: 262_144, disk_mb: 4_194_304 };
  await using hosts = await pollingAgents(world, 5, instead, options);
  const ids = (await world.db.selectFrom("hosts").select("id").orderBy("id").execute()).map(({ id }) => id);
  const spare = SPARE.map((n) => ids[n] as number);
  await reserveAll(world, spare, true);
  await manyClusters(world, hosts.agents);
  await reserveAll(world, spare, false);
  await hosts.poll();
  await hosts.work(temporal, names);

  const gone = [...(hosts.agents[LOST]?.specs.values() ?? [])];
  expect(gone).toHaveLength(CLUSTERS);
  const silenced = hosts.silence(LOST);
  for (const { node, cluster } of gone) {
    lost.add(node);
    leaveGroup(cluster?.group ?? "", node);
  }
  await silenced;

  const open = { most: 0 };
  const openNow = async (): Promise<number> => {
    const count = (await world.openOperations()).length;
    open.most = Math.max(open.most, count);
    return count;
  };
  const degraded = () => world.db.selectFrom("databases").select("id").where("status", "<>", "active").execute();
  const isSeenAgain = async (): Promise<boolean> => {
    const leases = world.db.selectFrom("host_leases").select("host_id").where("seen_at", ">=", world.time.now);
    return (await leases.execute()).length >= hosts.polling();
  };
  const check = async (seconds: number): Promise<void> => {
    world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
    await until(isSeenAgain);
    await world.run("clusterHealth");
  };
  await check(HOST_SILENT_SECONDS + 1);
  expect(await degraded()).toHaveLength(CLUSTERS);
  for (;;) {
    await openNow();
    await check(6);
    if ((await openNow()) === 0 && (await degraded()).length === 0) break;
  }

  expect([seen.done, seen.most, open.most]).toEqual([CLUSTERS, CLONES_PER_HOST, LIMIT]);
  const replaced = (await world.nodes()).filter(({ tombstoned, host_id }) => !tombstoned && spare.includes(host_id));
  expect(replaced).toHaveLength(CLUSTERS);
});

test.each([
  [{ active: 3, silent: 1 }, 30, false],
  [{ active: 6, silent: 2 }, 30, true],
  [{ active: 10, silent: 3 }, 30, false],
  [{ active: 10, silent: 4 }, 30, true],
  [{ active: 2, silent: 2 }, 100, false],
])("whether %o with a limit of %i percent stops replacements: %s", (seen, silentHostsPercent, isStopped) => {
  expect(areTooManySilent(seen, { silentHostsPercent })).toBe(isStopped);
});

test("no node is replaced while too many hosts of the region are silent at once, and the operator is told", async () => {
  await using world = await newWorld({ silentHostsPercent: 30 });
  const cluster = await watchedCluster(world, { hosts: 5 });
  const registry = new Registry();
  addReplacementsGauge(registry, { ...world, silentHostsPercent: 30 });
  const gauge = async () =>
    /^moorage_replacements_paused\{region="eu-central"\} (\d)$/m.exec(await registry.metrics())?.[1];
  const advice = async () =>
    (await world.operator.get<{ data: { advice: string }[] }>("/admin/databases")).body.data[0]?.advice;
  await cluster.silence(2);
  const used = (await cluster.nodes()).map(({ host_id }) => host_id);
  cluster.silenceHost(cluster.hosts.find(({ id }) => !used.includes(id))?.id as number);
  await cluster.reportAll({ online: 2 }, { online: 2 });

  await cluster.after(HOST_SILENT_SECONDS + 1);
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect([await cluster.status(), await world.openOperations(), await gauge()]).toEqual(["degraded", [], "1"]);
  expect(await advice()).toContain("2 of its 5 hosts are silent at once");

  cluster.unsilence();
  await cluster.silence(2);
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect([await world.openOperations(), await gauge()]).toEqual([["replaceNode"], "0"]);
});
