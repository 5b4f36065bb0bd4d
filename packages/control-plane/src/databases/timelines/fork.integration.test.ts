import { toTimestamp } from "@moorage/contract";
import { expect, test } from "vitest";
import { databaseFixture, desiredSpec } from "#testing/active-database.ts";
import { archivedThrough, hasBackup, later, timelinesOf } from "#testing/archive-records.ts";
import { newWorld, PLAN, REGION, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const DAY = 86_400;
const HOUR = 3600;

/** A three-day-old database, archived until now, on a host that was just seen. */
async function aSource(world: World) {
  const fixture = await databaseFixture(world);
  later(world, 3 * DAY);
  await archivedThrough(world, fixture.database);
  await world.db.updateTable("host_leases").set({ seen_at: world.time.now }).execute();
  return fixture;
}
const ago = (world: World, seconds: number): Date => new Date(world.time.now.getTime() - seconds * 1000);

test("a fork starts on the source's timeline at the requested time, with an archive of its own", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  const at = ago(world, HOUR);

  const { status, body } = await alice.create({ fork: { source: database.id, restore_time: toTimestamp(at) } });
  expect([status, body.status, body.oldest_restore_time]).toEqual([200, "provisioning", null]);
  expect(await world.openOperations()).toEqual(["forkDatabase"]);
  const { id: operation } = await world.lastOperation();
  expect(await world.activities.shipSource(operation)).toBe("archived");
  expect(await world.activities.whyNotForkable(operation, false)).toBeUndefined();
  await world.activities.setDesiredNodes(operation);

  const [parent] = await timelinesOf(world, database);
  const [own] = await timelinesOf(world, body);
  expect(own).toMatchObject({ ordinal: 0, prepared: null, parent_id: parent?.id, parent_until: at });
  expect((await desiredSpec(world)).data).toEqual({ timeline: own?.id, ordinal: 0, origin: "archive" });
  const recipients = (await world.db.selectFrom("archives").select("recipient").execute()).map((row) => row.recipient);
  expect(new Set(recipients).size).toBe(2);
});

test.each(["2026-11-15T10:00:00", "2026-11-15T10:00:00Z", "2026-11-15T11:00:00.000+01:00"])(
  "%s is a valid time for a fork",
  async (restore_time) => {
    await using world = await newWorld();
    world.time.now = new Date("2026-11-12T10:00:00Z");
    const { alice, database } = await aSource(world);

    await alice.create({ fork: { source: database.id, restore_time } });

    expect((await world.lastOperation()).input).toMatchObject({ fork: { until: "2026-11-15T10:00:00.000Z" } });
  },
);

test("a fork shows its source and the requested time, and another database shows none", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  const at = toTimestamp(ago(world, HOUR));
  const source = database.id;

  const now = await alice.create({ fork: { source } });
  const earlier = await alice.create({ fork: { source, restore_time: `${at}.250Z` } });

  expect(now.body.fork).toEqual({ source, restore_time: null });
  expect(earlier.body.fork).toEqual({ source, restore_time: at });
  for (const { body } of [now, earlier])
    expect((await alice.get(`/v4/databases/mysql/instances/${body.id}`)).body).toMatchObject({ fork: body.fork });
  expect((await alice.get("/v4/databases/instances")).body).toMatchObject({
    data: [{ fork: null }, { fork: now.body.fork }, { fork: earlier.body.fork }],
  });
});

test("the field name that the Go SDK of this family sends is accepted as the time of the fork", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  const at = ago(world, HOUR);

  const { body } = await alice.create({ fork: { source: database.id, "-": at.toISOString() } });

  expect(body.fork).toEqual({ source: database.id, restore_time: toTimestamp(at) });
  expect((await world.lastOperation()).input).toMatchObject({ fork: { until: at.toISOString() } });
});

test("a fork by the major version runs its source's version, although a newer one is offered", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  await world.operator.post("/admin/engines", { id: "mysql/9.8.0", image: "c".repeat(64), prepared: "d".repeat(64) });

  const { body } = await alice.create({ engine: "mysql/9", fork: { source: database.id } });

  expect(body).toMatchObject({ version: "9.7.4" });
  expect((await alice.create({ engine: "mysql/9" })).body).toMatchObject({ version: "9.8.0" });
});

test("a fork to now makes its source archive everything, and takes all of it", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await aSource(world);
  await archivedThrough(world, database, ago(world, HOUR));
  const { body } = await alice.create({ fork: { source: database.id } });
  const { id: operation } = await world.lastOperation();

  expect(await world.activities.shipSource(operation)).toBe("requested");
  expect(await world.activities.whyNotForkable(operation, false)).toEqual(
    texts.forkSourceNotArchived({ archivedThrough: toTimestamp(ago(world, HOUR)) }),
  );
  const spec = await desiredSpec(world);
  expect(spec).toMatchObject({ database: { id: database.id }, tasks: [{ kind: "ship" }] });
  later(world, 5);
  await archivedThrough(world, database);
  const job = { id: spec.tasks?.[0]?.id as string, state: "done" as const, percent: 100 };
  await host.report(spec, "running", { tasks: [job] });
  expect(await world.checkPhase(operation, "ship")).toEqual({ state: "observed" });
  expect(await world.activities.whyNotForkable(operation, true)).toBeUndefined();
  await world.activities.setDesiredNodes(operation);

  expect(await timelinesOf(world, body)).toMatchObject([{ parent_until: world.time.now }]);
});

test("a fork to now, right after the first copy of a source that only copies restore, succeeds", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await aSource(world);
  await world.db.updateTable("timelines").set({ prepared: null }).execute();
  await hasBackup(world, database, "snapshot");
  const ended_at = new Date(world.time.now.getTime() + 2000);
  await world.db.updateTable("copies").set({ ended_at }).execute();
  await alice.create({ fork: { source: database.id } });
  const { id: operation } = await world.lastOperation();

  let outcome = await world.activities.shipSource(operation);
  let waited = 0;
  for (; outcome === "too soon" && waited < 20; waited++) {
    later(world, 1);
    outcome = await world.activities.shipSource(operation);
  }
  expect(outcome).toBe("requested");
  // An asynchronous replica archives until 3 s before, by a clock that is 2 s behind.
  await archivedThrough(world, database, ago(world, 5));
  const spec = await desiredSpec(world);
  const job = { id: spec.tasks?.[0]?.id as string, state: "done" as const, percent: 100 };
  await host.report(spec, "running", { tasks: [job] });

  expect(await world.checkPhase(operation, "ship")).toEqual({ state: "observed" });
  expect(await world.activities.whyNotForkable(operation, true)).toBeUndefined();
});

test("a fork to now does not wait for a copy that a wrong clock made end in the future", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  await hasBackup(world, database, "snapshot");
  await world.db
    .updateTable("copies")
    .set({ ended_at: ago(world, -HOUR) })
    .execute();
  await alice.create({ fork: { source: database.id } });

  expect(await world.activities.shipSource((await world.lastOperation()).id)).toBe("requested");
});

test("a fork to a time that is not archived yet waits until the host's clock has surely passed it", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  await archivedThrough(world, database, ago(world, HOUR));
  await alice.create({ fork: { source: database.id, restore_time: toTimestamp(world.time.now) } });
  const { id: operation } = await world.lastOperation();

  expect(await world.activities.shipSource(operation)).toBe("too soon");
  later(world, 2);
  expect(await world.activities.shipSource(operation)).toBe("requested");
});

test("a fork of an asynchronous source to a time waits until what a replica archives reaches the time", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  await world.db.updateTable("databases").set({ cluster_size: 3, replication_type: "asynch" }).execute();
  await archivedThrough(world, database, ago(world, HOUR));
  await alice.create({ fork: { source: database.id, restore_time: toTimestamp(world.time.now) } });
  const { id: operation } = await world.lastOperation();

  for (let waited = 0; waited < 6; waited++) {
    expect(await world.activities.shipSource(operation)).toBe("too soon");
    later(world, 1);
  }
  // Without members in this world nothing can be requested.
  expect(await world.activities.shipSource(operation)).toBe("not requested");
});

test("a fork to a time before an in-place restore starts on the timeline in use at that time", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await aSource(world);
  const before = toTimestamp(world.time.now);
  const backup = await hasBackup(world, database);
  later(world, HOUR);
  await alice.post(`${database.url}/backups/${backup.id}/restore`);
  const during = toTimestamp(world.time.now);
  const { id: operation } = await world.lastOperation();
  const [first, second] = await timelinesOf(world, database);
  await world.activities.setRestoredTimeline(operation);
  later(world, HOUR);
  await host.report(await desiredSpec(world), "running", { timeline: second?.id as string });
  await world.activities.endChange(operation, { done: true });
  later(world, HOUR);
  const after = toTimestamp(world.time.now);

  for (const [restore_time, timeline] of [
    [before, first?.id],
    [during, first?.id],
    [after, second?.id],
  ]) {
    await alice.create({ fork: { source: database.id, restore_time } });
    expect((await world.lastOperation()).input).toMatchObject({ fork: { timeline } });
  }
});

test("a time outside of the source's history is refused with the range", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  const range = `a time from ${toTimestamp(ago(world, 3 * DAY))} to ${toTimestamp(world.time.now)} (UTC)`;

  for (const seconds of [3 * DAY + 1, -1, 30 * DAY])
    expect(
      await alice.create({ fork: { source: database.id, restore_time: toTimestamp(ago(world, seconds)) } }),
    ).toMatchObject({
      status: 400,
      body: { errors: [{ field: "fork.restore_time", reason: expect.stringContaining(range) }] },
    });
  later(world, 30 * DAY);
  expect((await alice.get(database.url)).body).toMatchObject({ oldest_restore_time: toTimestamp(ago(world, 7 * DAY)) });
  expect(
    await alice.create({ fork: { source: database.id, restore_time: toTimestamp(ago(world, 7 * DAY + 1)) } }),
  ).toMatchObject({ status: 400 });
  expect(
    await alice.create({ fork: { source: database.id, restore_time: toTimestamp(ago(world, 7 * DAY)) } }),
  ).toMatchObject({ status: 200 });
});

test("a suspended source can be forked as far as its archive reaches", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  await archivedThrough(world, database, ago(world, HOUR));
  await world.db.updateTable("databases").set({ status: "suspended", powered: false }).execute();

  expect(await alice.create({ fork: { source: database.id } })).toMatchObject({
    status: 400,
    body: {
      errors: [{ field: "fork.restore_time", reason: expect.stringContaining(`to ${toTimestamp(ago(world, HOUR))}`) }],
    },
  });
  expect(
    await alice.create({ fork: { source: database.id, restore_time: toTimestamp(ago(world, HOUR)) } }),
  ).toMatchObject({ status: 200 });
});

test("a property that must equal the source's is refused by its field", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  await world.operator.post("/admin/engines", { id: "mysql/9.7.5", image: "c".repeat(64), prepared: "d".repeat(64) });
  await world.operator.post("/admin/plans", {
    id: "m1-tiny",
    label: "Tiny",
    class: "standard",
    memory_mb: 1024,
    disk_mb: 5120,
    vcpus: 1,
  });
  await world.db.updateTable("nodes").set({ used_disk_mb: 6000 }).execute();
  const fork = { source: database.id };

  expect(await alice.create({ fork, engine: "mysql/9.7.5", type: "m1-tiny" })).toMatchObject({
    status: 400,
    body: {
      errors: [
        { field: "engine", reason: expect.stringContaining("mysql/9.7.4") },
        { field: "type", reason: expect.stringContaining("6000 MB") },
      ],
    },
  });
  await world.db.updateTable("databases").set({ encrypted: true }).execute();
  expect(await alice.create({ fork })).toMatchObject({ status: 400, body: { errors: [{ field: "encrypted" }] } });
  await world.db.updateTable("databases").set({ encrypted: false, status: "provisioning" }).execute();
  expect(await alice.create({ fork })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("provisioning") }] },
  });
  for (const wrong of [{ source: "x" }, { source: database.id, restore_time: "yesterday" }, "all"])
    expect(await alice.create({ fork: wrong })).toMatchObject({ status: 400 });
  expect(await world.openOperations()).toEqual([]);
});

test("another account's, a missing and an invisible source are refused alike", async () => {
  await using world = await newWorld();
  const { alice, database } = await aSource(world);
  const stranger = await world.customer();
  const restricted = await world.colleague(alice.accountId, { restricted: true });
  await world.db
    .updateTable("users")
    .set({ global_grants: JSON.stringify({ add_databases: true }) })
    .execute();
  const request = (source: number) => ({
    label: "a-fork",
    region: REGION,
    type: PLAN,
    engine: "mysql/9.7.4",
    fork: { source },
  });
  /** The requested id is in the text; nothing else may differ. */
  const post = async (who: typeof alice, id: number) => {
    const { status, body } = await who.post("/v4/databases/mysql/instances", request(id));
    return { status, text: JSON.stringify(body).replaceAll(String(id), "N") };
  };

  const refusals = [
    await post(stranger, database.id),
    await post(alice, database.id + 1_000_003),
    await post(restricted, database.id),
  ];

  expect(refusals[0]).toMatchObject({ status: 400, text: expect.stringContaining('"field":"fork.source"') });
  for (const refusal of refusals) expect(refusal).toEqual(refusals[0]);
  const grant = { account_id: alice.accountId, user_id: restricted.userId, entity_type: "database" as const };
  await world.db
    .insertInto("entity_grants")
    .values({ ...grant, entity_id: database.id, permission: "read_only" })
    .execute();
  expect(await post(restricted, database.id)).toMatchObject({ status: 403 });
  await world.db.updateTable("entity_grants").set({ permission: "read_write" }).execute();
  expect(await post(restricted, database.id)).toMatchObject({ status: 200 });
});
