import { expect, test } from "vitest";
import { activeCluster } from "#testing/active-database.ts";
import { newWorld, type World } from "#testing/world.ts";
import { allocateReplacement, findNodes } from "./index.ts";

async function createFixture(world: World) {
  const hosts = [await world.host(), await world.host(), await world.host()];
  const alice = await world.customer();
  const { id } = await activeCluster(world, alice, hosts);
  const [first, second, third] = await findNodes(world.db, alice.accountId, id);
  if (first === undefined || second === undefined || third === undefined) throw new Error("It has not three nodes.");
  await world.db.updateTable("members").set({ replaced_at: world.time.now }).where("node_id", "=", second.id).execute();
  const request = {
    accountId: alice.accountId,
    databaseId: id,
    region: "eu-central",
    ordinal: 1,
    port: second.port,
    memory_mb: second.memory_mb,
    disk_mb: second.disk_mb,
  };
  const replace = () => world.db.transaction().execute((tx) => allocateReplacement(tx, request, world.time.now));
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
