import { afterAll, beforeAll, expect, test } from "vitest";
import { activeDatabase, activeOnAgent, desiredSpec } from "#testing/active-database.ts";
import { later, timelinesOf } from "#testing/archive-records.ts";
import { pollingAgents } from "#testing/cluster-on-agents.ts";
import { until } from "#testing/database-on-agent.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World } from "#testing/world.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

/** One log, through this time. */
async function archived(world: World, { id }: { id: number }, through: Date, gtid: string): Promise<void> {
  const { timeline_id, account_id } = await world.databaseRow(id);
  await world.db
    .insertInto("binary_logs")
    .values({
      account_id,
      timeline_id: timeline_id as string,
      sequence: 1,
      name: "binlog.000001",
      closed_at: through,
      gtid,
      bytes: 1,
      sha256: "d".repeat(64),
    })
    .execute();
  await world.db
    .updateTable("timelines")
    .set({ last_log: 1, archived_through: through })
    .where("id", "=", timeline_id as string)
    .execute();
}

const secondsAfter = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000);
const exactly = (at: Date): string => at.toISOString().slice(0, -1);

/** A database on the first of two hosts; the second one has no room until the test says so. */
async function onFirstOfTwo(world: World) {
  const [alice, first] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, first);
  const second = await world.host();
  const events = async () =>
    (await world.events()).map(({ action, status, message_code }) => [action, status, message_code]);
  return {
    alice,
    database,
    first,
    second,
    status: async () => (await alice.get<{ status: string }>(database.url)).body.status,
    /** Events after the creation's. */
    events: async () => (await events()).filter(([action]) => action !== "database_create"),
    /** Time passes, in which only the second host polls. */
    async silentFor(seconds: number): Promise<void> {
      later(world, seconds);
      await second.poll();
      await world.run("lostHosts");
    },
    declareDead: async () =>
      expect(await world.operator.post(`/admin/hosts/${first.name}/dead`, {})).toMatchObject({ status: 200 }),
    /** What the operator reads. */
    advice: async () =>
      (await world.operator.get<{ data: { advice: string | null }[] }>("/admin/databases")).body.data[0]?.advice,
    setRoom: (memory_mb: number) =>
      world.db.updateTable("hosts").set({ memory_mb }).where("id", "=", second.id).execute(),
  };
}

test("ten databases of one node on a dead host are all active elsewhere, each with an exact receipt", async () => {
  await using world = await newWorld();
  await using hosts = await pollingAgents(world, 3);
  const alice = await world.customer();
  const [lost] = hosts.agents;
  if (lost === undefined) throw new Error("There is no host.");
  const [dead] = await world.db.selectFrom("hosts").selectAll().orderBy("id").execute();
  const room = (memory_mb: number) =>
    world.db
      .updateTable("hosts")
      .set({ memory_mb })
      .where("id", "!=", dead?.id as number)
      .execute();
  await room(1);
  const databases: Awaited<ReturnType<typeof activeOnAgent>>[] = [];
  for (let n = 0; n < 10; n++) databases.push(await activeOnAgent(world, alice, lost));
  await room(65_536);
  const start = world.time.now;
  for (const [n, each] of databases.entries())
    await archived(world, each, secondsAfter(start, n / 4), `uuid:1-${n + 1}`);
  const before = await world.nodes();
  /** Distinct ones: Temporal repeats a step that takes too long. */
  const published = new Set<number>();
  await hosts.poll();
  await hosts.work(temporal, {
    publishDnsRecords: async (operation: number) => void published.add(operation),
    withdrawDnsRecords: async () => {},
  });
  await hosts.silence(0);

  later(world, 40);
  await world.run("lostHosts");
  const statuses = async () => {
    const rows = await world.db.selectFrom("databases").select("status").execute();
    return [...new Set(rows.map(({ status }) => status))];
  };
  expect(await statuses()).toEqual(["degraded"]);
  const lastSeen = await world.db
    .selectFrom("host_leases")
    .select("seen_at")
    .where("host_id", "=", dead?.id as number)
    .executeTakeFirstOrThrow();
  // The others have polled since.
  await until(
    async () =>
      (await world.db.selectFrom("host_leases").select("host_id").where("seen_at", "=", world.time.now).execute())
        .length === 2,
  );
  expect(await world.operator.post(`/admin/hosts/${dead?.name}/dead`, {})).toMatchObject({ status: 200 });
  await world.run("lostHosts");
  await until(async () => (await world.openOperations()).length === 0);

  expect(await statuses()).toEqual(["active"]);
  const receipts = (await world.events()).filter(({ action }) => action === "database_node_replace");
  expect(receipts).toHaveLength(10);
  expect(published.size).toBe(10);
  const nodes = await world.nodes();
  for (const [n, { id }] of databases.entries()) {
    const reached = exactly(secondsAfter(start, n / 4));
    const receipt = receipts.find(({ entity_id }) => entity_id === String(id));
    expect(receipt).toMatchObject({ status: "finished", message_code: "restore.restored_elsewhere" });
    expect(receipt?.message).toContain(`as of ${reached} UTC, the newest point`);
    expect(receipt?.message).toContain(`Lost: every transaction committed after ${reached} UTC.`);
    expect(receipt?.message).toContain(`last seen at ${exactly(lastSeen.seen_at)} UTC.`);
    expect(receipt?.message).toContain(`(GTID): uuid:1-${n + 1}.`);
    const old = nodes.find((node) => node.database_id === id && node.host_id === dead?.id);
    const fresh = nodes.find((node) => node.database_id === id && node.host_id !== dead?.id);
    expect(old).toMatchObject({ tombstoned: true, replaced_at: world.time.now });
    expect(old?.desired_spec?.tombstone).toBeDefined();
    expect(fresh).toMatchObject({ port: before.find((node) => node.database_id === id)?.port, tombstoned: false });
    const [previous, restored] = await timelinesOf(world, { id });
    expect(restored).toMatchObject({ parent_id: previous?.id, parent_until: secondsAfter(start, n / 4) });
    expect(await world.databaseRow(id)).toMatchObject({ timeline_id: restored?.id, dns_published_at: world.time.now });
  }
});

test("the tenant of a database whose host is silent is told, and told again when the host is back", async () => {
  await using world = await newWorld();
  const { first, status, events, silentFor, advice } = await onFirstOfTwo(world);

  await silentFor(29);
  expect(await status()).toBe("active");
  await silentFor(1);
  await silentFor(10);
  expect(await status()).toBe("degraded");
  expect(await events()).toEqual([["database_degraded", "notification", "database.host_unreachable"]]);
  expect(await advice()).toContain(`then: moorage admin host dead ${first.name}.`);
  expect(await world.db.selectFrom("notifications").select("cause").execute()).toEqual([{ cause: "host" }]);

  await first.poll();
  await world.run("lostHosts");
  expect(await status()).toBe("active");
  expect(await advice()).toBeNull();
  expect((await events()).slice(1)).toEqual([["database_degraded", "finished", "database.reachable_again"]]);
  expect(await world.db.selectFrom("notifications").select("cause").execute()).toEqual([]);
});

test("the tenant of a database whose server does not answer is told, and told again when the server runs", async () => {
  await using world = await newWorld();
  const { first, status, events } = await onFirstOfTwo(world);
  const spec = await desiredSpec(world);
  const reported = async (state: "working" | "running", change = {}) => {
    await first.report(spec, state, change);
    await Promise.all([world.run("lostHosts"), world.run("lostHosts")]);
  };

  await reported("working", { unresponsive: true });
  await reported("working", { unresponsive: true });
  // It was killed, and starts.
  await reported("working");
  expect(await status()).toBe("degraded");
  expect(await world.db.selectFrom("notifications").select(["severity", "label"]).execute()).toEqual([
    { severity: "critical", label: "Database does not answer" },
  ]);
  await reported("running");

  expect(await status()).toBe("active");
  expect(await events()).toEqual([
    ["database_degraded", "notification", "database.unresponsive"],
    ["database_degraded", "finished", "database.reachable_again"],
  ]);
  expect(await world.db.selectFrom("notifications").select("cause").execute()).toEqual([]);
});

test("without room elsewhere the database stays degraded, says so, and is restored once there is room", async () => {
  await using world = await newWorld();
  const { database, second, status, events, silentFor, declareDead, setRoom, advice } = await onFirstOfTwo(world);
  await archived(world, database, world.time.now, "uuid:1-7");
  await setRoom(1);
  await silentFor(40);
  await declareDead();
  await silentFor(1);
  const { id: attempt } = await world.lastOperation();
  expect(await world.activities.setRestoredTimeline(attempt)).toBe("no room");
  await world.activities.endChange(attempt, { done: false });
  expect(await status()).toBe("degraded");
  expect((await events()).at(-1)).toEqual(["database_node_replace", "failed", "restore.failed_elsewhere"]);
  expect(await advice()).toContain("Its restore on another host failed:");

  await setRoom(65_536);
  await silentFor(599);
  expect(await world.openOperations()).toEqual([]);
  await silentFor(1);
  const { id: again } = await world.lastOperation();
  expect(await world.activities.setRestoredTimeline(again)).toBe("requested elsewhere");
  expect(await world.activities.setRestoredTimeline(again)).toBe("requested elsewhere");
  const spec = await desiredSpec(world);
  await second.report(spec, "running", { timeline: spec.data?.timeline as string });
  await world.activities.endChange(again, { done: true, dnsPublished: true });

  expect(await status()).toBe("active");
  expect((await events()).at(-1)).toEqual(["database_node_replace", "finished", "restore.restored_elsewhere"]);
});

test("a restore elsewhere that its host cannot make is removed from that host and tried again", async () => {
  await using world = await newWorld();
  const { database, second, status, silentFor, declareDead } = await onFirstOfTwo(world);
  await archived(world, database, world.time.now, "uuid:1-7");
  await silentFor(40);
  await declareDead();
  await silentFor(1);
  const { id: attempt } = await world.lastOperation();
  await world.activities.setRestoredTimeline(attempt);
  await second.report(await desiredSpec(world), "failed", { message: "no more disk" });

  await world.activities.endChange(attempt, { done: false });

  const spec = await desiredSpec(world);
  expect(spec.tombstone).toEqual({ operation: attempt });
  expect(await status()).toBe("degraded");
  await second.report(spec, "gone");
  await world.run("release");
  await silentFor(600);
  const { id: again } = await world.lastOperation();
  expect(await world.activities.setRestoredTimeline(again)).toBe("requested elsewhere");
  expect((await timelinesOf(world, database)).map(({ ended_at }) => ended_at === null)).toEqual([true, false, true]);
});

test("a database of which nothing was archived is failed when its host is dead, costs nothing and can be deleted", async () => {
  await using world = await newWorld();
  const { alice, database, status, events, silentFor, declareDead } = await onFirstOfTwo(world);
  await silentFor(40);
  await declareDead();
  await silentFor(1);

  expect(await status()).toBe("failed");
  expect((await events()).at(-1)).toEqual(["database_degraded", "notification", "database.host_lost_without_backup"]);
  const usage = await world.db.selectFrom("usage_facts").select(["state", "at"]).orderBy("sequence").execute();
  expect(usage.at(-1)).toEqual({ state: "ended", at: world.time.now });
  expect(await alice.delete(database.url)).toMatchObject({ status: 200 });
});

test("a suspended database of one node is restored elsewhere and stays suspended", async () => {
  await using world = await newWorld();
  const { alice, database, first, second, status, silentFor, declareDead } = await onFirstOfTwo(world);
  await archived(world, database, world.time.now, "uuid:1-7");
  await alice.post(`${database.url}/suspend`);
  const suspension = await world.lastOperation();
  await world.activities.applyChange(suspension.id);
  await first.report(await desiredSpec(world), "stopped");
  await world.activities.endChange(suspension.id, { done: true });
  await silentFor(40);
  expect(await status()).toBe("suspended");
  await declareDead();
  await silentFor(1);
  const { id } = await world.lastOperation();
  await world.activities.setRestoredTimeline(id);
  const spec = await desiredSpec(world);
  expect(spec.power).toBeUndefined();
  await second.report(spec, "running", { timeline: spec.data?.timeline as string });

  await world.activities.endChange(id, { done: true, dnsPublished: true });

  expect(await status()).toBe("suspended");
  expect(await desiredSpec(world)).toMatchObject({ power: "off" });
});

test("an operation that needs the dead host is ended at once, and the database is restored elsewhere", async () => {
  await using world = await newWorld();
  const { alice, database, status, events, silentFor, declareDead } = await onFirstOfTwo(world);
  await archived(world, database, world.time.now, "uuid:1-7");
  await alice.post(`${database.url}/backups`, { label: "before" });
  await silentFor(40);
  expect(await status()).toBe("backing_up");
  await declareDead();

  await silentFor(1);
  expect((await events()).at(-1)).toEqual(["database_backup_create", "failed", "backup.snapshot_failed"]);
  await silentFor(1);
  expect(await status()).toBe("restoring");
  expect(await world.openOperations()).toEqual(["restoreDatabase"]);
});

test("the tenant's own restore of a database whose host is dead goes to another host", async () => {
  await using world = await newWorld();
  const { alice, database, second, status, silentFor, declareDead } = await onFirstOfTwo(world);
  const { timeline_id, account_id } = await world.databaseRow(database.id);
  const backup = await world.db
    .insertInto("backups")
    .values({
      account_id,
      database_id: database.id,
      type: "auto",
      label: "auto-1",
      timeline_id: timeline_id as string,
      copy_id: null,
      point_at: world.time.now,
      created_at: world.time.now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await silentFor(40);
  await declareDead();
  expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  await silentFor(1);
  expect(await world.activities.setRestoredTimeline(id)).toBe("requested elsewhere");
  const spec = await desiredSpec(world);
  expect(spec.data).not.toHaveProperty("keep");
  await second.report(spec, "running", { timeline: spec.data?.timeline as string });
  await world.activities.endChange(id, { done: true, dnsPublished: true });
  expect(await status()).toBe("active");
});
