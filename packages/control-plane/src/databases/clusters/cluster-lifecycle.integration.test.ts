import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { startPowerDns } from "@moorage/testkit/power-dns.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPowerDns } from "#dns/index.ts";
import { CLUSTER_PLAN, OFFICE, offerClusterPlan } from "#testing/active-database.ts";
import { clusterOnAgents, pollingAgents } from "#testing/cluster-on-agents.ts";
import { shortenDeadline, until, untilSettled } from "#testing/database-on-agent.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World, ZONE } from "#testing/world.ts";
import { createDnsActivities } from "../jobs/dns-activities.ts";
import { texts } from "../workflows/texts.ts";

const INSTANCES = "/v4/databases/mysql/instances";
const noDns = { publishDnsRecords: async () => {}, withdrawDnsRecords: async () => {} };

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const lastEvent = async (world: World) => (await world.events()).at(-1);

test("three nodes are provisioned, in DNS with all their hosts, and removed from all of them by a delete", async () => {
  await using world = await newWorld();
  await using dns = await startPowerDns(ZONE);
  const dnsDeps = { db: world.db, clock: world.clock, zone: ZONE, dnsServer: createPowerDns(dns.settings) };
  await using hosts = await pollingAgents(world, 4);
  await hosts.work(temporal, createDnsActivities(dnsDeps));
  await offerClusterPlan(world);
  await hosts.poll();
  const alice = await world.customer();

  const { id } = (await alice.create({ type: CLUSTER_PLAN, cluster_size: 3 })).body;
  await untilSettled(world);

  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({
    status: "active",
    read_only_port: expect.any(Number),
  });
  const used: string[] = [];
  for (const { host_id } of await world.nodes()) used.push((await world.hostRow(host_id)).address);
  expect((await dns.lookUp(`db-${id}-mysql-primary.${ZONE}`)).sort()).toEqual(used.sort());
  await until(async () => hosts.specsOf(id).every(({ cluster }) => cluster?.bootstrap === undefined));

  await alice.delete(`${INSTANCES}/${id}`);
  await untilSettled(world);

  expect(await lastEvent(world)).toMatchObject({ action: "database_delete", status: "finished" });
  expect(hosts.specsOf(id).every(({ tombstone }) => tombstone !== undefined)).toBe(true);
  expect((await world.nodes()).every(({ released_at }) => released_at !== null)).toBe(true);
  expect(await dns.lookUp(`db-${id}-mysql-primary.${ZONE}`)).toEqual([]);
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 0, nodes: 0, memory_mb: 0, disk_mb: 0 });
});

test("a list is in force when all three hosts have it; the event has the time and names no host", async () => {
  await using world = await newWorld();
  await using cluster = await clusterOnAgents(world);
  await cluster.work(temporal, noDns);

  await cluster.alice.put(cluster.url, { allow_list: OFFICE });
  await untilSettled(world);

  expect(cluster.specs().map(({ firewall }) => firewall?.sources)).toEqual([OFFICE, OFFICE, OFFICE]);
  expect((await lastEvent(world))?.message).toMatch(/^Applied on every node at [\dT:-]+ UTC\.$/);
});

test("a list that one of three hosts cannot apply admits nobody new on any, and nobody whom it removes", async () => {
  const refuse = (spec: NodeSpec): Partial<NodeReport> =>
    spec.ordinal === 2 && spec.firewall?.sources.includes(OFFICE[0] as string)
      ? { state: "failed", message: "it is broken" }
      : {};
  await using world = await newWorld();
  await using cluster = await clusterOnAgents(world, refuse);
  await cluster.work(temporal, noDns);

  await cluster.alice.put(cluster.url, { allow_list: OFFICE });
  await untilSettled(world);

  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: expect.stringContaining("it is broken") });
  expect((await cluster.alice.get(cluster.url)).body).toMatchObject({ status: "active", allow_list: [] });
  await until(async () => cluster.specs().every(({ firewall }) => firewall?.sources.length === 0));
});

test("a new password is sent to all members", async () => {
  await using world = await newWorld();
  await using cluster = await clusterOnAgents(world);
  await cluster.work(temporal, noDns);

  await cluster.alice.post(`${cluster.url}/credentials/reset`);
  await untilSettled(world);

  expect(await lastEvent(world)).toMatchObject({ action: "database_credentials_reset", status: "finished" });
  expect(cluster.specs().map(({ credentials }) => credentials.version)).toEqual([2, 2, 2]);
});

test("suspended, all members stop; resumed, their group is bootstrapped and the permission withdrawn", async () => {
  await using world = await newWorld();
  await using cluster = await clusterOnAgents(world);
  await cluster.work(temporal, noDns);

  await cluster.alice.post(`${cluster.url}/suspend`);
  await untilSettled(world);
  expect((await cluster.alice.get(cluster.url)).body).toMatchObject({ status: "suspended" });
  expect(cluster.specs().map(({ power }) => power)).toEqual(["off", "off", "off"]);

  await cluster.alice.post(`${cluster.url}/resume`);
  await untilSettled(world);

  expect(await lastEvent(world)).toMatchObject({ status: "finished" });
  expect((await cluster.alice.get(cluster.url)).body).toMatchObject({ status: "active" });
  const reports = async () => {
    const members = await world.db.selectFrom("members").select("report").execute();
    return members.map(({ report }) => [report?.state, report?.online, report?.shared]);
  };
  // The first members may not have reported the last one yet.
  await expect.poll(reports).toEqual([
    ["online", 3, true],
    ["online", 3, true],
    ["online", 3, true],
  ]);
  await until(async () =>
    cluster.specs().every((spec) => spec.cluster?.bootstrap === undefined && spec.power === undefined),
  );
});

test("a cluster whose members do not bootstrap a group on resume stays suspended, with the reason", async () => {
  let broken = false;
  const refuse = (spec: NodeSpec): Partial<NodeReport> =>
    broken && spec.ordinal === 1 && spec.power === undefined ? { state: "working", step: "mysqld" } : {};
  await using world = await newWorld();
  await using cluster = await clusterOnAgents(world, refuse);
  await cluster.alice.post(`${cluster.url}/suspend`);
  {
    await using _ = await startWorker(world, temporal, noDns);
    await untilSettled(world);
  }
  broken = true;

  await cluster.alice.post(`${cluster.url}/resume`);
  await shortenDeadline(world, 2000);
  await cluster.work(temporal, noDns);
  await untilSettled(world);

  expect(await lastEvent(world)).toMatchObject({
    status: "failed",
    message: expect.stringContaining(texts.bootstrapFailed({ why: texts.nodesLate().text }).text),
  });
  expect((await cluster.alice.get(cluster.url)).body).toMatchObject({ status: "suspended" });
  await until(async () =>
    cluster.specs().every((spec) => spec.power === "off" && spec.cluster?.bootstrap === undefined),
  );
});
