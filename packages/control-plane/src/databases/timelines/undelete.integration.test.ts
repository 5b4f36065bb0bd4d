import { expect, test } from "vitest";
import { INSTANCES, databaseFixture, desiredSpec } from "#testing/active-database.ts";
import { archivedThrough, hasBackup, later, timelinesOf } from "#testing/archive-records.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const DAY = 86_400;

async function finishDeletion(world: World, host: Awaited<ReturnType<World["host"]>>): Promise<void> {
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  await host.report(await desiredSpec(world), "gone");
  await world.activities.endChange(id, { done: true });
}

/** A database that was provisioned, archived, deleted, and removed from its host. */
async function deleted(world: World) {
  const fixture = await databaseFixture(world);
  await archivedThrough(world, fixture.database);
  later(world, 5);
  await fixture.alice.delete(fixture.database.url);
  await finishDeletion(world, fixture.host);
  const undelete = () => world.operator.post(`/admin/databases/${fixture.database.id}/undelete`, {});
  return { ...fixture, undelete };
}

test("a deletion keeps the archive for the undelete period, and makes no more points", async () => {
  await using world = await newWorld();
  const { database } = await deleted(world);

  const purge_at = new Date(world.time.now.getTime() + 7 * DAY * 1000);
  expect(await world.databaseRow(database.id)).toMatchObject({ deleted_at: world.time.now, purge_at });
  expect(await timelinesOf(world, database)).toMatchObject([{ next_point_at: null }]);
  const [kept] = (await world.operator.get<{ data: object[] }>("/admin/deleted-databases")).body.data;
  expect(kept).toMatchObject({
    id: database.id,
    label: database.label,
    undelete_until: purge_at.toISOString().slice(0, 19),
  });
});

test("without an undelete period everything may be purged at once", async () => {
  await using world = await newWorld({ undeleteDays: 0 });
  const { database, undelete } = await deleted(world);

  expect(await world.databaseRow(database.id)).toMatchObject({ purge_at: world.time.now });
  expect(await undelete()).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.undeleteNothingKept({ id: database.id }).text }] },
  });
});

test("before the hosts remove a database its firewall is closed and its data are shipped", async () => {
  await using world = await newWorld();
  const { alice, database, host } = await databaseFixture(world);
  await host.report(await desiredSpec(world), "running");
  await alice.delete(database.url);
  const { id: operation } = await world.lastOperation();

  expect(await world.activities.shipLast(operation)).toBe("requested");

  const spec = await desiredSpec(world);
  expect(spec).toMatchObject({ tasks: [{ kind: "ship" }] });
  expect(spec).not.toHaveProperty("firewall");
  expect(spec).not.toHaveProperty("tombstone");
});

test("an undelete brings back id, label and password, on new nodes, with the last archived data", async () => {
  await using world = await newWorld();
  const { alice, host, database, undelete } = await deleted(world);
  const [last] = await timelinesOf(world, database);
  const [before] = await world.nodes();
  await world.db.updateTable("host_leases").set({ seen_at: world.time.now }).execute();

  expect(await undelete()).toMatchObject({ status: 200, body: { label: database.label, status: "provisioning" } });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "provisioning", label: database.label });
  const { id: operation } = await world.lastOperation();
  await world.activities.setDesiredNodes(operation);
  const [ended, own] = await timelinesOf(world, database);
  const spec = await desiredSpec(world);
  expect(spec.node).not.toBe(before?.id);
  expect(spec).toMatchObject({
    data: { timeline: own?.id, ordinal: 1, origin: "archive" },
    credentials: { version: 1 },
  });
  expect(own).toMatchObject({ parent_id: last?.id, parent_until: last?.archived_through });
  expect(ended).toMatchObject({ ended_at: world.time.now });
  await host.report(spec, "running", { timeline: own?.id as string });
  await world.activities.endChange(operation, { done: true, dnsPublished: true });

  expect((await alice.get(database.url)).body).toMatchObject({ id: database.id, status: "active" });
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 1, nodes: 1, memory_mb: 1024 });
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_create", status: "finished" });
  expect(await undelete()).toMatchObject({ status: 200, body: { status: "active", data_until: null } });
});

test("a backup from before the deletion is there again", async () => {
  await using world = await newWorld();
  const { alice, database, host } = await databaseFixture(world);
  const backup = await hasBackup(world, database);
  await alice.delete(database.url);
  await finishDeletion(world, host);

  await world.operator.post(`/admin/databases/${database.id}/undelete`, {});
  await world.db.updateTable("databases").set({ status: "active" }).execute();

  expect((await alice.get<{ data: object[] }>(`${database.url}/backups`)).body.data).toMatchObject([{ id: backup.id }]);
});

test("a refused undelete names the obstacle, and nothing changes", async () => {
  await using world = await newWorld();
  const { alice, database, host } = await databaseFixture(world);
  const undelete = () =>
    world.operator.post<{ errors: { reason: string }[] }>(`/admin/databases/${database.id}/undelete`, {});
  const reason = async () => (await undelete()).body.errors[0]?.reason;
  await alice.delete(database.url);
  expect(await reason()).toBe(texts.undeleteStillDeleting(database).text);
  const { id: operation } = await world.lastOperation();
  await world.activities.setTombstones(operation);
  await world.expire(operation);
  expect(await reason()).toBe(texts.undeleteNodeNotRemoved(database).text);
  await host.report(await desiredSpec(world), "gone");
  await world.run("release");
  const { body: other } = await alice.create({ label: database.label });
  expect(await reason()).toBe(texts.undeleteLabelTaken({ label: database.label, other: other.id }).text);
  await world.db.updateTable("databases").set({ label: "another" }).where("id", "=", other.id).execute();
  await world.operator.post(`/admin/accounts/${alice.accountId}/limits`, { databases: 1 });
  expect(await reason()).toContain("may have at most 1 databases");
  expect(await alice.get(`${INSTANCES}/${database.id}`)).toMatchObject({ status: 404 });
  expect(await timelinesOf(world, database)).toHaveLength(1);
  later(world, 7 * DAY);
  expect(await reason()).toBe(texts.undeleteNothingKept(database).text);
  expect(await world.operator.post("/admin/databases/1/undelete", {})).toMatchObject({ status: 404 });
});
