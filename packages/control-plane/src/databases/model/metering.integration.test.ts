/** What the lifecycle of a database leaves for its invoice. */
import { expect, test } from "vitest";
import { aMinuteLater, INSTANCES, databaseFixture, desiredSpec } from "#testing/active-database.ts";
import { archivedThrough, later } from "#testing/archive-records.ts";
import { newWorld, PLAN, REGION, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const LARGE = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };

const factsOf = async (world: World, { id }: { id: number }) =>
  (
    await world.db.selectFrom("usage_facts").selectAll().where("resource_id", "=", id).orderBy("sequence").execute()
  ).map(({ state, plan, at }) => ({ state, plan, at }));
const statesOf = async (world: World, database: { id: number }) =>
  (await factsOf(world, database)).map(({ state, plan }) => `${state} ${plan}`);

async function change(world: World, ask: () => Promise<{ status: number }>, done = true): Promise<void> {
  expect(await ask()).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  aMinuteLater(world);
  await world.activities.endChange(id, { done });
}

test("a database is metered from active until its deletion is accepted, by its present properties", async () => {
  await using world = await newWorld();
  await world.operator.post("/admin/plans", LARGE);
  const { alice, database } = await databaseFixture(world);
  const active = world.time.now;

  await change(world, () => alice.put(database.url, { type: LARGE.id }));
  const resized = world.time.now;
  await change(world, () => alice.post(`${database.url}/suspend`));
  const suspended = world.time.now;
  await change(world, () => alice.post(`${database.url}/resume`));
  const resumed = world.time.now;
  aMinuteLater(world);
  await alice.delete(database.url);

  expect(await factsOf(world, database)).toEqual([
    { state: "running", plan: PLAN, at: active },
    { state: "running", plan: LARGE.id, at: resized },
    { state: "suspended", plan: LARGE.id, at: suspended },
    { state: "running", plan: LARGE.id, at: resumed },
    { state: "ended", plan: LARGE.id, at: world.time.now },
  ]);
});

test("a database that could not be provisioned costs nothing, and its deletion is not metered", async () => {
  await using world = await newWorld();
  const [alice] = [await world.customer(), await world.host()];
  const { body } = await alice.create();
  expect(await factsOf(world, body)).toEqual([]);
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);

  await world.activities.endChange(id, { done: false, message: texts.hostReported({ message: "exit 1" }) });
  await alice.delete(`${INSTANCES}/${body.id}`);

  expect(await factsOf(world, body)).toEqual([]);
});

test.each([
  ["resize", (url: string) => ({ method: "put" as const, url, body: { type: LARGE.id } })],
  ["suspend", (url: string) => ({ method: "post" as const, url: `${url}/suspend`, body: undefined })],
])("a %s that is given up costs what it did before", async (_what, asking) => {
  await using world = await newWorld();
  await world.operator.post("/admin/plans", LARGE);
  const { alice, database } = await databaseFixture(world);
  const { method, url, body } = asking(database.url);

  await change(world, () => alice[method](url, body), false);

  expect(await statesOf(world, database)).toEqual([`running ${PLAN}`]);
});

test("a patch, a new password and a repeated step are not metered", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);

  await change(world, () => alice.post(`${database.url}/credentials/reset`));
  await world.activities.endChange((await world.lastOperation()).id, { done: true });

  expect(await statesOf(world, database)).toEqual([`running ${PLAN}`]);
});

test("a new label is on the invoice", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);

  expect(await alice.put(database.url, { label: "renamed" })).toMatchObject({ status: 200 });

  const facts = await world.db.selectFrom("usage_facts").selectAll().orderBy("sequence").execute();
  expect(facts).toMatchObject([
    { label: database.label, state: "running", region: REGION, nodes: 1 },
    { label: "renamed", state: "running", region: REGION, nodes: 1 },
  ]);
});

test("a fork is metered like any other database, from when it is active; its source is unaffected", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await archivedThrough(world, database);
  const { body } = await alice.create({ fork: { source: database.id } });
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);
  await host.report(await desiredSpec(world), "running");
  expect(await factsOf(world, body)).toEqual([]);
  aMinuteLater(world);

  await world.activities.endChange(id, { done: true });

  expect(await factsOf(world, body)).toEqual([{ state: "running", plan: PLAN, at: world.time.now }]);
  expect(await statesOf(world, database)).toEqual([`running ${PLAN}`]);
});

test("an undeleted database is metered again, from when it is active", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await archivedThrough(world, database);
  later(world, 5);
  await alice.delete(database.url);
  const deletion = await world.lastOperation();
  await world.activities.setTombstones(deletion.id);
  await host.report(await desiredSpec(world), "gone");
  await world.activities.endChange(deletion.id, { done: true });
  aMinuteLater(world);

  await world.operator.post(`/admin/databases/${database.id}/undelete`, {});
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);
  expect(await statesOf(world, database)).toEqual([`running ${PLAN}`, `ended ${PLAN}`]);
  aMinuteLater(world);
  await world.activities.endChange(id, { done: true });

  expect((await factsOf(world, database)).slice(1)).toMatchObject([
    { state: "ended" },
    { state: "running", at: world.time.now },
  ]);
});
