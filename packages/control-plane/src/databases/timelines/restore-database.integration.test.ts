import { expect, test } from "vitest";
import { activeDatabase, INSTANCES, databaseFixture, desiredSpec } from "#testing/active-database.ts";
import { archivedThrough, hasBackup, later, midnightAfter, timelinesOf } from "#testing/archive-records.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts as databaseTexts } from "../model/texts.ts";
import { texts } from "./texts.ts";

const DAY = 86_400;

/** An active database with a backup of yesterday, and an accepted restore to it. */
async function restoring(world: World, type: "auto" | "snapshot" = "auto") {
  const fixture = await databaseFixture(world);
  const backup = await hasBackup(world, fixture.database, type);
  later(world, DAY);
  const reply = await fixture.alice.post(`${fixture.database.url}/backups/${backup.id}/restore`);
  const { id: operation } = await world.lastOperation();
  return { ...fixture, backup, reply, operation };
}
const lastEvent = async (world: World) => (await world.events()).at(-1);

test("a first provision creates a database's archive, first timeline and image, once", async () => {
  await using world = await newWorld();
  const [alice] = [await world.customer(), await world.host()];
  const { body } = await alice.create();
  const { id } = await world.lastOperation();

  await world.activities.setDesiredNodes(id);
  const before = await world.databaseRow(body.id);
  await world.activities.setDesiredNodes(id);

  const timelines = await timelinesOf(world, body);
  expect(timelines).toMatchObject([
    { ordinal: 0, prepared: "b".repeat(64), parent_id: null, archived_through: world.time.now, next_point_at: null },
  ]);
  expect(await world.databaseRow(body.id)).toEqual({ ...before, image: "a".repeat(64), timeline_id: timelines[0]?.id });
  const [archive] = await world.db.selectFrom("archives").selectAll().execute();
  expect(await desiredSpec(world)).toMatchObject({
    data: { timeline: timelines[0]?.id, ordinal: 0, origin: "prepared" },
    archive: { recipient: archive?.recipient, log_seconds: 60 },
  });
});

test("the first daily point is the midnight after a database became active", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);

  expect(await timelinesOf(world, database)).toMatchObject([{ next_point_at: midnightAfter(world.time.now) }]);
});

test.each(["auto", "snapshot"] as const)(
  "a restore to a backup of type %s starts a timeline at its point",
  async (type) => {
    await using world = await newWorld();
    const { alice, database, backup, reply } = await restoring(world, type);

    expect(reply).toMatchObject({ status: 200, body: {} });
    expect((await alice.get(database.url)).body).toMatchObject({ status: "restoring" });
    expect(await world.openOperations()).toEqual(["restoreDatabase"]);
    expect(await lastEvent(world)).toMatchObject({ action: "database_backup_restore", status: "started" });
    expect((await world.audit()).at(-1)).toMatchObject({ action: "restore_database" });
    expect(await timelinesOf(world, database)).toMatchObject([
      { ordinal: 0 },
      {
        ordinal: 1,
        prepared: null,
        parent_id: backup.timeline_id,
        parent_copy_id: backup.copy_id,
        parent_until: type === "auto" ? backup.point_at : null,
        next_point_at: null,
      },
    ]);
  },
);

test("the old data are kept until the new ones run, and are then released", async () => {
  await using world = await newWorld();
  const { alice, host, database, operation } = await restoring(world);
  const [old, restored] = await timelinesOf(world, database);

  await world.activities.setRestoredTimeline(operation);
  const spec = await desiredSpec(world);
  expect(spec).toMatchObject({ data: { timeline: restored?.id, ordinal: 1, origin: "archive", keep: 0 } });
  await host.report(spec, "running", { timeline: restored?.id as string });
  expect(await world.checkPhase(operation, "restored")).toEqual({ state: "observed" });
  await world.activities.endChange(operation, { done: true });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(await world.databaseRow(database.id)).toMatchObject({ timeline_id: restored?.id });
  expect(await timelinesOf(world, database)).toMatchObject([
    // The midnight that has passed is still due; none after it is.
    { id: old?.id, ended_at: world.time.now, next_point_at: old?.next_point_at },
    { id: restored?.id, ended_at: null, next_point_at: midnightAfter(world.time.now) },
  ]);
  expect((await desiredSpec(world)).data).toEqual({ timeline: restored?.id, ordinal: 1, origin: "archive" });
  expect(await lastEvent(world)).toMatchObject({
    action: "database_backup_restore",
    status: "finished",
    message: expect.stringMatching(/^Restored to auto-/),
    message_code: "restore.restored",
  });
});

test("a host that runs on other data has not restored anything", async () => {
  await using world = await newWorld();
  const { alice, host, database, operation } = await restoring(world);
  const [old] = await timelinesOf(world, database);
  await world.activities.setRestoredTimeline(operation);
  await host.report(await desiredSpec(world), "running", { timeline: old?.id as string });

  await world.activities.endChange(operation, { done: true });

  expect(await world.databaseRow(database.id)).toMatchObject({ timeline_id: old?.id, status: "active" });
  expect(await lastEvent(world)).toMatchObject({ status: "failed" });
  expect((await desiredSpec(world)).data).toEqual({ timeline: old?.id, ordinal: 0, origin: "prepared" });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
});

test.each(["active", "degraded", "failed"] as const)(
  "a failed restore returns to the data and the status %s",
  async (before) => {
    await using world = await newWorld();
    const { alice, host, database } = await databaseFixture(world);
    const backup = await hasBackup(world, database);
    await world.db.updateTable("databases").set({ status: before }).execute();
    await alice.post(`${database.url}/backups/${backup.id}/restore`);
    const { id: operation } = await world.lastOperation();
    const [old, given] = await timelinesOf(world, database);
    await world.activities.setRestoredTimeline(operation);
    await host.report(await desiredSpec(world), "failed", { message: "recipe: a log is missing" });

    await world.activities.setPreviousTimeline(operation);
    await world.activities.setPreviousTimeline(operation);
    expect((await desiredSpec(world)).data).toEqual({ timeline: old?.id, ordinal: 0, origin: "prepared" });
    await world.activities.endChange(operation, {
      done: false,
      message: databaseTexts.hostReported({ message: "recipe: a log is missing" }),
    });
    await world.activities.endChange(operation, { done: true });

    expect((await alice.get(database.url)).body).toMatchObject({ status: before });
    expect(await lastEvent(world)).toMatchObject({
      status: "failed",
      message: texts.failedDataKept({ backup: backup.label, why: "recipe: a log is missing" }).text,
    });
    expect(await timelinesOf(world, database)).toMatchObject([
      { id: old?.id, ended_at: null },
      { id: given?.id, ended_at: given?.created_at },
    ]);
  },
);

test("an expired restore requests the previous data again", async () => {
  await using world = await newWorld();
  const { database, operation } = await restoring(world);
  await world.activities.setRestoredTimeline(operation);

  await world.expire(operation);

  expect((await desiredSpec(world)).data).toMatchObject({ ordinal: 0 });
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "active" });
  expect(await world.activities.setRestoredTimeline(operation)).toBe("not requested");
  expect((await desiredSpec(world)).data).toMatchObject({ ordinal: 0 });
});

test("a second restore takes the next volume number, never a used one", async () => {
  await using world = await newWorld();
  const { alice, host, database, backup, operation } = await restoring(world);
  await world.activities.setRestoredTimeline(operation);
  await host.report(await desiredSpec(world), "failed");
  await world.activities.endChange(operation, { done: false });

  await alice.post(`${database.url}/backups/${backup.id}/restore`);

  expect((await timelinesOf(world, database)).map(({ ordinal }) => ordinal)).toEqual([0, 1, 2]);
});

test("before a restore the latest writes are shipped, with the rest of the spec unchanged", async () => {
  await using world = await newWorld();
  const { alice, database, host } = await databaseFixture(world);
  const backup = await hasBackup(world, database);
  const before = await desiredSpec(world);
  await host.report(before, "running");
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const { id: operation } = await world.lastOperation();

  expect(await world.activities.shipOwn(operation)).toBe("requested");
  expect(await world.activities.shipOwn(operation)).toBe("requested");

  const { tasks, ...rest } = await desiredSpec(world);
  expect(rest).toEqual({ ...before, generation: before.generation + 1 });
  expect(tasks).toEqual([{ id: expect.anything(), kind: "ship" }]);
  expect(await world.checkPhase(operation, "ship")).toEqual({ state: "pending" });
  await host.report(await desiredSpec(world), "running", {
    tasks: [{ id: tasks?.[0]?.id as string, state: "done", percent: 100 }],
  });
  expect(await world.checkPhase(operation, "ship")).toEqual({ state: "observed" });
});

test("an unreachable host is not waited for", async () => {
  await using world = await newWorld();
  const { operation } = await restoring(world);

  expect(await world.activities.shipOwn(operation)).toBe("not requested");
});

test("a database that its host has lost can be restored; a failure creates no empty one", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const backup = await hasBackup(world, database);
  await world.db.updateTable("nodes").set({ desired_spec: null }).execute();
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const { id: operation } = await world.lastOperation();

  await world.activities.setRestoredTimeline(operation);
  const { data } = await desiredSpec(world);
  expect(data).toMatchObject({ ordinal: 1, origin: "archive" });
  expect(data).not.toHaveProperty("keep");
  await host.report(await desiredSpec(world), "failed");
  await world.activities.endChange(operation, { done: false });

  expect(await desiredSpec(world)).toBeNull();
});

test("another database's backup is not found, and nothing is recorded", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const other = await activeDatabase(world, alice, host);
  const backup = await hasBackup(world, other);
  const events = await world.events();

  expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({ status: 404 });
  expect(await (await world.customer()).post(`${other.url}/backups/${backup.id}/restore`)).toMatchObject({
    status: 404,
  });
  expect(await world.events()).toEqual(events);
});

test("a restore of a database that no host could take is refused with the reason", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const backup = await hasBackup(world, database);
  await world.db.updateTable("databases").set({ status: "failed", port: null }).execute();
  await world.db.updateTable("nodes").set({ released_at: world.time.now }).execute();

  expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.noNode().text }] },
  });
});

test("during a restore every other operation is refused", async () => {
  await using world = await newWorld();
  const { alice, database, backup } = await restoring(world);
  await archivedThrough(world, database);

  for (const reply of [
    await alice.post(`${database.url}/backups/${backup.id}/restore`),
    await alice.put(database.url, { label: "another" }),
    await alice.delete(database.url),
  ])
    expect(reply).toMatchObject({ status: 400, body: { errors: [{ reason: expect.stringContaining("restoring") }] } });
  expect(await alice.get(`${INSTANCES}/${database.id}`)).toMatchObject({
    body: { oldest_restore_time: expect.anything() },
  });
});

test("the shown progress never falls, whatever phase its host works on and however often it restarts", async () => {
  await using world = await newWorld();
  const { alice, database, host } = await databaseFixture(world);
  const backup = await hasBackup(world, database);
  const before = await desiredSpec(world);
  await host.report(before, "running");
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const { id: operation } = await world.lastOperation();
  const seen: (number | null)[] = [];
  const see = async () => {
    const { body } = await alice.get<{ data: { percent_complete: number | null }[] }>("/v4/account/events");
    seen.push(body.data[0]?.percent_complete ?? null);
  };
  const reports = async (...report: Parameters<typeof host.report>) => {
    await host.report(...report);
    await see();
  };

  await see();
  await world.activities.shipOwn(operation);
  // The host has not read it yet: it runs as before.
  await reports(before, "running");
  const shipping = await desiredSpec(world);
  const job = { id: shipping.tasks?.[0]?.id as string, state: "working" as const };
  await reports(shipping, "running", { tasks: [{ ...job, percent: 50 }] });
  await reports(shipping, "running", { tasks: [{ ...job, state: "done", percent: 100 }] });
  await world.activities.setRestoredTimeline(operation);
  await reports(shipping, "running", { tasks: [{ ...job, state: "done", percent: 100 }] });
  const restored = await desiredSpec(world);
  for (const percent of [5, 45, 92]) await reports(restored, "working", { percent });
  // A second attempt starts at the first step; then the server starts with the new data, by other steps.
  for (const percent of [0, 5, 65]) await reports(restored, "working", { percent });
  await reports(restored, "running", { timeline: restored.data?.timeline as string });
  await world.activities.endChange(operation, { done: true });
  await see();

  expect(seen).toEqual([0, 0, 5, 10, 10, 14, 50, 92, 92, 92, 92, 99, 100]);
});
