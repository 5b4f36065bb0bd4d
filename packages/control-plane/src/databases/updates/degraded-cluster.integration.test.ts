import { expect, test } from "vitest";
import { activeClusterOnAgents, HOME, OFFICE } from "#testing/active-database.ts";
import { pollingAgents } from "#testing/cluster-on-agents.ts";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

/** Node 2 is on an unreachable host, and no other host has room for its replacement. */
async function degradedCluster(world: World) {
  const cluster = await watchedCluster(world, { hosts: 3, change: { allow_list: [...HOME, ...OFFICE] } });
  await cluster.silence(2);
  for (const ordinal of [0, 1]) await cluster.reportMember(ordinal, { online: 2 });
  await cluster.after(40);
  expect(await cluster.status()).toBe("degraded");
  const sources = async () => (await cluster.nodes()).map(({ desired_spec }) => desired_spec?.firewall?.sources);
  const lastEvent = async () => (await world.events()).at(-1);
  /** The change is sent, the hosts of nodes 0 and 1 apply it, and that of node 2 does not report until the deadline. */
  const missedByNode2 = async () => {
    const { id } = await world.lastOperation();
    await world.activities.applyChange(id);
    for (const ordinal of [0, 1]) await cluster.reportMember(ordinal, { online: 2 });
    await world.expire(id);
  };
  return { ...cluster, sources, lastEvent, missedByNode2 };
}
const why = texts.hostLate().text;

test("a source that a degraded cluster's list removes stays removed, though one host misses the change", async () => {
  await using world = await newWorld();
  const cluster = await degradedCluster(world);
  const narrower = ["198.51.100.0/28", "192.0.2.1"];

  expect(await cluster.alice.put(cluster.database.url, { allow_list: narrower })).toMatchObject({ status: 200 });
  await cluster.missedByNode2();

  expect((await cluster.alice.get(cluster.database.url)).body).toMatchObject({
    status: "degraded",
    allow_list: ["198.51.100.0/28"],
  });
  const left = ["198.51.100.0/28"];
  expect(await cluster.sources()).toEqual([left, left, left]);
  expect(await cluster.lastEvent()).toMatchObject({
    status: "failed",
    message: texts.allowListFailedInPart({ why, behind: [2] }).text,
  });
});

test("the host that missed a change gets the resulting list when it is back", async () => {
  await using world = await newWorld();
  await using hosts = await pollingAgents(world, 3);
  const alice = await world.customer();
  const { id, url } = await activeClusterOnAgents(world, alice, hosts.agents, { allow_list: [...HOME, ...OFFICE] });
  const sources = () => hosts.specsOf(id).map(({ firewall }) => firewall?.sources);
  const before = sources()[2];
  const late = hosts.agents.find(({ specs }) => [...specs.values()].some(({ ordinal }) => ordinal === 2));
  const others = hosts.agents.filter((agent) => agent !== late);

  await alice.put(url, { allow_list: [...HOME, "192.0.2.1"] });
  const update = await world.lastOperation();
  await world.activities.applyChange(update.id);
  for (const agent of others) await agent.poll();
  await world.expire(update.id);
  for (const agent of others) await agent.poll();

  const home = ["203.0.113.7/32"];
  expect(sources()).toEqual([home, home, before]);
  await late?.poll();
  expect(sources()).toEqual([home, home, home]);
});

test("a list that all hosts have is in force, though its workflow did not see it in time", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world, { change: { allow_list: HOME } });
  await cluster.alice.put(cluster.database.url, { allow_list: OFFICE });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await cluster.reportAll({}, {}, {});

  await world.expire(id);

  expect((await cluster.alice.get(cluster.database.url)).body).toMatchObject({ status: "active", allow_list: OFFICE });
});

test("a list that no host was sent leaves the old one in force", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world, { change: { allow_list: HOME } });
  await cluster.alice.put(cluster.database.url, { allow_list: OFFICE });

  await world.expire((await world.lastOperation()).id);

  expect((await cluster.alice.get(cluster.database.url)).body).toMatchObject({ status: "active", allow_list: HOME });
});

test("the password of a degraded cluster can be changed, and the event names the node that has not confirmed it", async () => {
  await using world = await newWorld();
  const cluster = await degradedCluster(world);

  expect(await cluster.alice.post(`${cluster.database.url}/credentials/reset`)).toMatchObject({ status: 200 });
  await cluster.missedByNode2();

  expect(await cluster.status()).toBe("degraded");
  expect((await cluster.nodes()).map(({ desired_spec }) => desired_spec?.credentials.version)).toEqual([2, 2, 2]);
  expect(await cluster.lastEvent()).toMatchObject({
    action: "database_credentials_reset",
    status: "failed",
    message: texts.passwordNotConfirmed({ why, behind: [2] }).text,
  });
});

test("a degraded cluster is neither resized, patched nor suspended", async () => {
  await using world = await newWorld();
  const cluster = await degradedCluster(world);

  for (const action of ["patch", "suspend"])
    expect(await cluster.alice.post(`${cluster.database.url}/${action}`)).toMatchObject({ status: 400 });
});
