import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import {
  activeCluster,
  activeDatabase,
  CLUSTER_PLAN,
  offerClusterPlan,
  reportMembers,
} from "#testing/active-database.ts";
import { archivedThrough, later } from "#testing/archive-records.ts";
import { newWorld, type World } from "#testing/world.ts";
import { openClusterSecret } from "../spec/cluster-store.ts";

async function threeHosts(world: World) {
  return [await world.host(), await world.host(), await world.host()];
}

/** The specs of a database's newest nodes, by ordinal. */
const specsOf = async (world: World, databaseId: number): Promise<NodeSpec[]> =>
  (await world.nodes())
    .filter(({ database_id, released_at }) => database_id === databaseId && released_at === null)
    .sort((a, b) => a.ordinal - b.ordinal)
    .map(({ desired_spec }) => desired_spec as NodeSpec);

const renewLeases = (world: World) => world.db.updateTable("host_leases").set({ seen_at: world.time.now }).execute();

/** One member bootstraps a group of the new timeline; the others clone from it. */
function expectFirstOrders(specs: readonly NodeSpec[], timeline: string): void {
  const [first] = specs;
  expect(specs.map(({ cluster }) => [cluster?.group, cluster?.bootstrap, cluster?.reclone])).toEqual([
    [timeline, timeline, undefined],
    [timeline, undefined, { id: timeline, donor: first?.node }],
    [timeline, undefined, { id: timeline, donor: first?.node }],
  ]);
  expect(specs.map(({ data }) => data?.origin === "archive")).toEqual([true, false, false]);
}

test("an undeleted cluster is three new nodes with a group of their own, and the members' password stays", async () => {
  await using world = await newWorld();
  const [alice, hosts] = [await world.customer(), await threeHosts(world)];
  const database = await activeCluster(world, alice, hosts);
  const owner = { account_id: alice.accountId, id: database.id };
  const [before, password] = [
    await specsOf(world, database.id),
    await openClusterSecret(world.db, world.sealer, owner, "group_password"),
  ];
  await archivedThrough(world, database);
  later(world, 5);
  await alice.delete(database.url);
  const deletion = await world.lastOperation();
  await world.activities.setTombstones(deletion.id);
  await reportMembers(world, hosts);
  await world.activities.endChange(deletion.id, { done: true });

  await world.operator.post(`/admin/databases/${database.id}/undelete`, {});
  await renewLeases(world);
  const { id } = await world.lastOperation();
  expect(await world.activities.setDesiredNodes(id)).toBe("requested in a group");

  const after = await specsOf(world, database.id);
  expect(after.length).toBe(3);
  expect(new Set([...before, ...after].map(({ node }) => node)).size).toBe(6);
  expect(after[0]?.cluster?.group).not.toBe(before[0]?.cluster?.group);
  expectFirstOrders(after, (await world.databaseRow(database.id)).timeline_id as string);
  expect(await openClusterSecret(world.db, world.sealer, owner, "group_password")).toBe(password);

  await reportMembers(world, hosts);
  expect(await world.checkPhase(id, "running")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });
  const settled = await specsOf(world, database.id);
  expect(
    settled.flatMap(({ cluster }) => [cluster?.bootstrap, cluster?.reclone].filter((order) => order !== undefined)),
  ).toEqual([]);
  expect(settled.length).toBe(3);
});

test("a fork of one node can have three: one restores the source's data, and the others clone from it", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const source = await activeDatabase(world, alice, await world.host());
  await threeHosts(world);
  await archivedThrough(world, source);
  await offerClusterPlan(world);

  const { status, body } = await alice.create({ type: CLUSTER_PLAN, cluster_size: 3, fork: { source: source.id } });
  expect(status).toBe(200);
  await renewLeases(world);
  expect(await world.activities.setDesiredNodes((await world.lastOperation()).id)).toBe("requested in a group");

  expectFirstOrders(await specsOf(world, body.id), (await world.databaseRow(body.id)).timeline_id as string);
});
