import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeCluster, activeDatabase } from "#testing/active-database.ts";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld, type World } from "#testing/world.ts";
import { allocateReplacement, findNodes, type NodeRow } from "./index.ts";
import { countClones } from "./node-store.ts";

async function createFixture(world: World) {
  const hosts = [await world.host(), await world.host(), await world.host()];
  const alice = await world.customer();
  const { id } = await activeCluster(world, alice, hosts);
  const [first, second, third] = await findNodes(world.db, alice.accountId, id);
  if (first === undefined || second === undefined || third === undefined) throw new Error("It has not three nodes.");
  await world.db.updateTable("nodes").set({ replaced_at: world.time.now }).where("id", "=", second.id).execute();
  const request = {
    accountId: alice.accountId,
    databaseId: id,
    region: "eu-central",
    ordinal: 1,
    port: second.port,
    memory_mb: second.memory_mb,
    disk_mb: second.disk_mb,
  };
  const allocate = () => world.db.transaction().execute((tx) => allocateReplacement(tx, request, world.time.now));
  const replace = async () => {
    const made = await allocate();
    if (made === "hosts are busy") throw new Error(made);
    return made;
  };
  return { alice, id, nodes: { first, second, third }, replace };
}

test("a replacement keeps ordinal and port, on a host without a node of the database, and is made once", async () => {
  await using world = await newWorld();
  const { alice, id, nodes, replace } = await createFixture(world);
  expect(await replace()).toBeUndefined();
  const spare = await world.host();

  const made = await replace();

  expect(made).toMatchObject({ host_id: spare.id, ordinal: 1, port: nodes.second.port, desired_spec: null });
  expect((await replace())?.id).toBe(made?.id);
  const now = await findNodes(world.db, alice.accountId, id);
  expect(now.map((node) => node.id)).toEqual([nodes.first.id, made?.id, nodes.third.id]);
  expect(await world.hostRow(spare.id)).toMatchObject({ reserved_memory_mb: 2048, reserved_disk_mb: 20_480 });
});

test("a replacement goes where its port is free, into another failure domain where there is one", async () => {
  await using world = await newWorld();
  const { nodes, replace } = await createFixture(world);
  const taken = await world.host({ failure_domain: "rack-free" });
  await world.host({ failure_domain: (await world.hostRow(nodes.first.host_id)).failure_domain });
  const far = await world.host({ failure_domain: "rack-far", memory_mb: 4096 });
  await world.db
    .updateTable("nodes")
    .set({ host_id: taken.id, released_at: null })
    .where("id", "=", nodes.second.id)
    .execute();

  expect((await replace())?.host_id).toBe(far.id);
});

test("a re-clone in place is a clone of its host, unless the host holds it", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world, { hosts: 3 });
  await cluster.reportAll({}, {});
  await cluster.reportMember(2, { node: "failed" });
  await cluster.after(31);
  expect(await world.activities.placeReplacement((await world.lastOperation()).id)).toBe("placed");
  const { desired_spec: spec, host_id } = (await cluster.nodes())[2] as NodeRow;
  const count = () => world.db.transaction().execute((tx) => countClones(tx, "eu-central"));

  expect(await count()).toEqual(new Map([[host_id, 1]]));
  await (await cluster.hostOf(2)).report(spec as NodeSpec, "held", { message: "It is held." });
  expect(await count()).toEqual(new Map());
});

test("on four hosts with two databases a lost node is replaced on the one that is left", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  const fourth = cluster.hosts[3] as (typeof cluster.hosts)[number];
  await activeDatabase(world, cluster.alice, fourth);
  await cluster.silence(1);
  await cluster.reportMember(0, { online: 2 });
  await cluster.reportMember(2, { online: 2 });
  await cluster.after(301);

  const { id, kind } = await world.lastOperation();
  expect([kind, await world.activities.placeReplacement(id)]).toEqual(["replaceNode", "placed"]);

  const nodes = await findNodes(world.db, cluster.alice.accountId, cluster.database.id);
  expect(nodes[1]).toMatchObject({ ordinal: 1, host_id: fourth.id });
  const held = (await world.nodes()).filter(({ host_id }) => host_id === fourth.id);
  expect(new Set(held.map(({ port }) => port)).size).toBe(2);
});
