import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseOnAgent, until, untilSettled } from "#testing/database-on-agent.ts";
import { hasBackup, timelinesOf } from "#testing/archive-records.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World } from "#testing/world.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

/**
 * One active database on a host whose agent applies every spec, unless `otherwise` overrides its reports, with
 * workflows.
 */
async function createFixture(world: World, otherwise?: (spec: NodeSpec) => Partial<NodeReport>) {
  const fixture = await databaseOnAgent(world, temporal, otherwise);
  await fixture.work();
  return fixture;
}
const lastEvent = async (world: World) => (await world.events()).at(-1);
const isRestored = ({ data }: NodeSpec): boolean => data?.origin === "archive";

test("a restore ships everything, switches to the new timeline and releases the old one", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { alice, database, specOf } = fixture;
  const backup = await hasBackup(world, database);
  world.time.now = new Date(world.time.now.getTime() + 60_000);

  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  await untilSettled(world);

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(await lastEvent(world)).toMatchObject({ action: "database_backup_restore", status: "finished" });
  const [old, own] = await timelinesOf(world, database);
  expect(old).toMatchObject({ archived_through: world.time.now, ended_at: world.time.now });
  await until(async () => specOf(database.id).data?.keep === undefined);
  expect(specOf(database.id)).toMatchObject({ generation: 4, data: { timeline: own?.id, ordinal: 1 } });
});

test("a restore that its host cannot make ends on the previous data, on the host too", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world, (spec) =>
    isRestored(spec) ? { state: "failed", message: "recipe: a log is missing" } : {},
  );
  const { alice, database, specOf } = fixture;
  const backup = await hasBackup(world, database);

  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  await untilSettled(world);

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(await lastEvent(world)).toMatchObject({
    action: "database_backup_restore",
    status: "failed",
    message: expect.stringContaining("a log is missing"),
    message_code: "restore.failed_data_kept",
  });
  const [old] = await timelinesOf(world, database);
  expect(specOf(database.id)).toMatchObject({ generation: 4, data: { timeline: old?.id, ordinal: 0 } });
});

test("a fork is made from what its source has just archived", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { alice, database, specOf } = fixture;
  world.time.now = new Date(world.time.now.getTime() + 20_000);

  const { body: fork } = await alice.create({ fork: { source: database.id } });
  await untilSettled(world);

  expect((await alice.get(`/v4/databases/mysql/instances/${fork.id}`)).body).toMatchObject({ status: "active" });
  const [parent] = await timelinesOf(world, database);
  expect(await timelinesOf(world, fork)).toMatchObject([{ parent_id: parent?.id, parent_until: world.time.now }]);
  expect(specOf(fork.id).data).toMatchObject({ ordinal: 0, origin: "archive" });
  expect(specOf(database.id)).toMatchObject({ tasks: [{ kind: "ship" }], data: { timeline: parent?.id } });
});

test("a fork whose source cannot archive its newest data fails with what can be forked", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world, ({ tasks = [] }) => ({
    tasks: tasks.map(({ id }) => ({ id, state: "failed", percent: 0, message: "the object store is away" })),
  }));
  const { alice, database } = fixture;

  const { body: fork } = await alice.create({ fork: { source: database.id } });
  await untilSettled(world);

  expect((await alice.get(`/v4/databases/mysql/instances/${fork.id}`)).body).toMatchObject({ status: "failed" });
  expect(await lastEvent(world)).toMatchObject({
    action: "database_create",
    status: "failed",
    message: expect.stringContaining("did not archive its newest data"),
  });
  expect(await world.nodes()).toHaveLength(1);
});

test("a deletion ships everything before the hosts remove it", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { alice, database } = fixture;
  world.time.now = new Date(world.time.now.getTime() + 20_000);

  await alice.delete(database.url);
  await untilSettled(world);

  expect(await lastEvent(world)).toMatchObject({ action: "database_delete", status: "finished" });
  expect(await timelinesOf(world, database)).toMatchObject([{ archived_through: world.time.now }]);
});
