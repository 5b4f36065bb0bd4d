import { expect, test } from "vitest";
import { activeCluster, reportMembers } from "#testing/active-database.ts";
import { newWorld, type World } from "#testing/world.ts";
import { settlementOf } from "../workflows/bootstrap-group.ts";

/** A suspended cluster on three of four hosts; the hosts of these nodes are declared dead. */
async function suspendedWithoutHost(world: World, change: object = {}, ordinals: readonly number[] = [0]) {
  const alice = await world.customer();
  const hosts = [await world.host(), await world.host(), await world.host(), await world.host()];
  const database = await activeCluster(world, alice, hosts, change);
  await alice.post(`${database.url}/suspend`);
  const suspension = await world.lastOperation();
  await world.activities.applyChange(suspension.id);
  await reportMembers(world, hosts);
  await world.activities.endChange(suspension.id, { done: true });
  const gone = (await world.nodes()).filter(({ ordinal }) => ordinals.includes(ordinal));
  const [lost] = gone;
  const dead = hosts.filter(({ id }) => gone.some(({ host_id }) => host_id === id));
  const others = hosts.filter((host) => !dead.includes(host));
  const after = async (seconds: number) => {
    world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
    for (const host of others) await host.poll();
  };
  await after(400);
  for (const { name } of dead)
    expect(await world.operator.post(`/admin/hosts/${name}/dead`, {})).toMatchObject({ status: 200 });
  const status = async () => (await alice.get<{ status: string }>(database.url)).body.status;
  expect(await status()).toBe("suspended");
  return { alice, database, others, lost, after, status };
}

test.each([
  ["a group", {}],
  ["an asynchronous cluster", { replication_type: "asynch" }],
])(
  "%s that lost a host while it was suspended is resumed with two nodes, and the third is replaced",
  async (_, change) => {
    await using world = await newWorld();
    const { alice, database, others, lost, after, status } = await suspendedWithoutHost(world, change);

    expect(await alice.post(`${database.url}/resume`)).toMatchObject({ status: 200 });
    const { id } = await world.lastOperation();
    expect(await world.activities.applyChange(id)).toBe("requested out of group");
    const steps: string[] = [];
    for (let round = 0; round < 10 && steps.at(-1) !== "bootstrapped"; round++) {
      await after(10);
      await world.run("clusterHealth");
      await reportMembers(world, others);
      steps.push((await world.activities.advanceBootstrap(id)).next);
    }
    expect(steps.at(-1)).toBe("bootstrapped");
    await world.activities.endChange(id, { done: true });
    for (let round = 0; round < 5 && (await world.lastOperation()).kind === "resumeDatabase"; round++) {
      await after(10);
      await reportMembers(world, others);
      await world.run("clusterHealth");
    }

    expect(await status()).toBe("degraded");
    const { kind, input } = await world.lastOperation();
    expect([kind, input]).toMatchObject(["replaceNode", { node: lost?.id, ordinal: 0 }]);
  },
);

/** Resumed as its workflow does it. */
async function resumedWithoutTwo(world: World, change: object) {
  const fixture = await suspendedWithoutHost(world, change, [0, 1]);
  const { alice, database, others, after } = fixture;
  expect(await alice.post(`${database.url}/resume`)).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  expect(await world.activities.applyChange(id)).toBe("requested out of group");
  const progress = await world.activities.advanceBootstrap(id);
  if (progress.next === "wait") throw new Error("It waits for hosts that never return.");
  await world.activities.endChange(id, settlementOf(progress));
  await after(10);
  await reportMembers(world, others);
  await world.run("clusterHealth");
  return fixture;
}

test.each([
  ["a group", {}],
  ["an asynchronous cluster", { replication_type: "asynch" }],
])(
  "%s that lost two hosts while it was suspended is resumed as degraded, and its tenant is told why",
  async (_, change) => {
    await using world = await newWorld();
    const { alice, database, status } = await resumedWithoutTwo(world, change);

    expect(await status()).toBe("degraded");
    const events = (await world.events()).filter(({ action }) => action === "database_update");
    expect(events.at(-1)).toMatchObject({ status: "finished", message_code: "operation.resumed_without_majority" });
    expect(await alice.delete(database.url)).toMatchObject({ status: 200 });
  },
);

test.each([
  ["a group", {}],
  ["an asynchronous cluster", { replication_type: "asynch" }],
])("the operator continues %s with the only node that is left of a suspended database", async (_, change) => {
  await using world = await newWorld();
  const { database, others, after, status } = await resumedWithoutTwo(world, change);
  const bootstrap = () => world.operator.post(`/admin/databases/${database.id}/bootstrap`, { accept_loss: true });

  expect(await bootstrap()).toMatchObject({ status: 200 });
  const { id, kind } = await world.lastOperation();
  for (let round = 0; round < 10 && kind === "bootstrapGroup"; round++) {
    await after(10);
    await reportMembers(world, others);
    const { next } = await world.activities.advanceBootstrap(id);
    if (next !== "bootstrapped") continue;
    await world.activities.endChange(id, { done: true });
    break;
  }
  for (let round = 0; round < 8 && (await world.lastOperation()).kind !== "replaceNode"; round++) {
    await after(10);
    await reportMembers(world, others);
    await world.run("clusterHealth");
  }

  expect(await status()).toBe("degraded");
  expect(await world.openOperations()).toEqual(["replaceNode"]);
});
