import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { activeDatabase, databaseFixture } from "#testing/active-database.ts";
import { archivedThrough, hasBackup, midnightAfter, timelinesOf } from "#testing/archive-records.ts";
import { newWorld, type World } from "#testing/world.ts";
import { endTimeline } from "../model/timeline-store.ts";
import { duePoints } from "./daily-points.ts";
import { texts } from "./texts.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const setClock = (world: World, at: Date | number): void => {
  world.time.now = new Date(at);
};
const dailyOf = async (world: World, { id }: { id: number }) =>
  (
    await world.db
      .selectFrom("backups")
      .select(["label", "point_at"])
      .where("database_id", "=", id)
      .where("type", "=", "auto")
      .orderBy("id")
      .execute()
  ).map(({ label, point_at }) => ({ label, at: point_at.getTime() }));

/** What a running host reports: everything up to now. */
const shipped = (world: World, database: { id: number }) => archivedThrough(world, database);

test("over ten days each midnight gives one daily backup, and only the seven newest stay", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const start = midnightAfter(world.time.now).getTime();

  for (let at = start - 5 * HOUR_MS; at < start + 10 * DAY_MS; at += HOUR_MS) {
    setClock(world, at);
    await shipped(world, database);
    await world.run("dailyPoints");
    const passed = Math.max(0, Math.floor((at - start) / DAY_MS) + 1);
    const last = start + (passed - 1) * DAY_MS;
    const expected = Array.from({ length: Math.min(passed, 7) }, (_, n) => last - n * DAY_MS).toReversed();
    expect((await dailyOf(world, database)).map((point) => point.at)).toEqual(expected);
  }

  const { body } = await alice.get<{ data: object[] }>(`${database.url}/backups`);
  const day = new Date(start + 3 * DAY_MS).toISOString().slice(0, 10);
  expect(body.data[0]).toMatchObject({
    type: "auto",
    label: `Scheduled-${day.replaceAll("-", "")}-0000`,
    created: `${day}T00:00:00`,
  });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
});

test("midnights during an outage of the control plane are made up for, none missed, none twice", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const start = midnightAfter(world.time.now).getTime();

  // For three midnights the job did not run, and no host was reachable.
  setClock(world, start + 2 * DAY_MS + 30_000);
  await world.run("dailyPoints");
  expect(await dailyOf(world, database)).toEqual([]);
  await shipped(world, database);
  await world.run("dailyPoints");
  await world.run("dailyPoints");

  expect((await dailyOf(world, database)).map(({ at }) => at)).toEqual([start, start + DAY_MS, start + 2 * DAY_MS]);
});

test("a midnight becomes a backup only when the archive reaches past it", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const start = midnightAfter(world.time.now);
  setClock(world, start.getTime() + 30_000);

  await archivedThrough(world, database, new Date(start.getTime() - 1));
  await world.run("dailyPoints");
  expect(await dailyOf(world, database)).toEqual([]);

  await archivedThrough(world, database, start);
  await world.run("dailyPoints");
  expect(await dailyOf(world, database)).toHaveLength(1);
});

test("of many concurrent workers one makes each midnight of each database", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const databases = [database, await activeDatabase(world, alice, host), await activeDatabase(world, alice, host)];
  setClock(world, midnightAfter(world.time.now).getTime() + 4 * DAY_MS);
  for (const each of databases) await shipped(world, each);

  await Promise.all(Array.from({ length: 6 }, () => world.run("dailyPoints")));

  for (const each of databases) expect(await dailyOf(world, each)).toHaveLength(5);
});

test("a database whose backup fails does not cost the others theirs", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const other = await activeDatabase(world, alice, host);
  setClock(world, midnightAfter(world.time.now).getTime() + 1);
  for (const each of [database, other]) await shipped(world, each);
  await sql`alter table backups add check (database_id <> ${sql.lit(database.id)})`.execute(world.db);

  await world.run("dailyPoints");

  expect([await dailyOf(world, database), (await dailyOf(world, other)).length]).toEqual([[], 1]);
  expect(world.stuck().get("dailyPoints")).toBe(1);
});

test("a midnight before the database left a timeline still belongs to it, a later one does not", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const start = midnightAfter(world.time.now).getTime();
  setClock(world, start + HOUR_MS);
  const [left] = await timelinesOf(world, database);
  await world.db.transaction().execute((tx) => endTimeline(tx, left?.id ?? "", world.time.now));
  setClock(world, start + 3 * DAY_MS);
  await shipped(world, database);

  await world.run("dailyPoints");

  expect((await dailyOf(world, database)).map(({ at }) => at)).toEqual([start]);
  expect(await timelinesOf(world, database)).toMatchObject([{ next_point_at: null }]);
});

test("no backup restores to a time before its timeline started", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const start = midnightAfter(world.time.now).getTime();
  await world.db
    .updateTable("timelines")
    .set({ created_at: new Date(start + HOUR_MS) })
    .execute();
  setClock(world, start + DAY_MS);
  await shipped(world, database);

  await world.run("dailyPoints");

  expect((await dailyOf(world, database)).map(({ at }) => at)).toEqual([start + DAY_MS]);
});

test("a deleted database gets no more backups", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await alice.delete(database.url);
  setClock(world, midnightAfter(world.time.now).getTime() + DAY_MS);
  await shipped(world, database);

  await world.run("dailyPoints");

  expect(await dailyOf(world, database)).toEqual([]);
});

test("the newest verified backup stays among the seven until a younger one is verified", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const start = midnightAfter(world.time.now).getTime();
  const passDays = async (from: number, to: number) => {
    for (let day = from; day < to; day++) {
      setClock(world, start + day * DAY_MS + 1);
      await shipped(world, database);
      await world.run("dailyPoints");
    }
  };
  const verify = (day: number) =>
    world.db
      .updateTable("backups")
      .set({ verified_at: world.time.now })
      .where("point_at", "=", new Date(start + day * DAY_MS))
      .execute();

  await passDays(0, 2);
  await verify(0);
  await passDays(2, 12);
  expect((await dailyOf(world, database)).map(({ at }) => (at - start) / DAY_MS)).toEqual([0, 6, 7, 8, 9, 10, 11]);
  await verify(8);
  await passDays(12, 13);
  expect((await dailyOf(world, database)).map(({ at }) => (at - start) / DAY_MS)).toEqual([6, 7, 8, 9, 10, 11, 12]);
});

test("a daily backup deletes copies and logs that nothing needs, and an empty timeline", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const [timeline] = await timelinesOf(world, database);
  const start = midnightAfter(world.time.now).getTime();
  const { account_id, id: timeline_id } = timeline ?? { account_id: 0, id: "" };
  for (let day = 0; day < 20; day++) {
    setClock(world, start + day * DAY_MS);
    const { copy_id } = await hasBackup(world, database, "snapshot");
    await world.db.deleteFrom("backups").where("type", "=", "snapshot").execute();
    await world.db
      .updateTable("copies")
      .set({ first_log: day + 1 })
      .where("id", "=", copy_id)
      .execute();
    const closed_at = new Date(start + day * DAY_MS + HOUR_MS);
    await world.db
      .insertInto("binary_logs")
      .values({ account_id, timeline_id, sequence: day + 1, name: "", closed_at, gtid: "", bytes: 1, sha256: "" })
      .execute();
    setClock(world, closed_at);
    await shipped(world, database);
    await world.run("dailyPoints");
  }
  const left = (table: "copies" | "binary_logs") =>
    world.db.selectFrom(table).select("timeline_id").where("doomed_at", "is", null).execute();
  // The last eight days, and what they start from.
  expect([(await left("copies")).length, (await left("binary_logs")).length]).toEqual([9, 9]);

  const empty = { ...timeline, id: "00000000-0000-4000-8000-000000000001", ordinal: 7, next_point_at: null };
  const row = { ...empty, account_id, database_id: database.id, ended_at: new Date(start) } as never;
  await world.db.insertInto("timelines").values(row).execute();
  setClock(world, start + 20 * DAY_MS + 1);
  await shipped(world, database);
  await world.run("dailyPoints");
  expect(await timelinesOf(world, database)).toMatchObject([{ id: timeline_id }]);
});

test("finding what is due reads as much at 20,000 databases as at 1,000, for the same number due", async () => {
  await using world = await newWorld();
  const { database } = await databaseFixture(world);
  const now = midnightAfter(world.time.now);
  const DUE = 200;
  const buffersOf = async (databases: number): Promise<number> => {
    await sql`
      insert into databases (account_id, id, label, engine_version, region, plan, cluster_size, replication_type, encrypted,
        ssl_connection, allow_list, status, updates, admin_password, created_at, updated_at)
      select account_id, id + n, label || n, engine_version, region, plan, cluster_size, replication_type, encrypted,
        ssl_connection, allow_list, status, updates, admin_password, created_at, updated_at
      from databases, generate_series((select count(*) from timelines), ${databases} - 1) n where id = ${database.id}`.execute(
      world.db,
    );
    // Not due yet: their archive has not reached the midnight that they wait for.
    await sql`
      insert into timelines (account_id, id, database_id, ordinal, prepared, created_at, archived_through, next_point_at)
      select account_id, gen_random_uuid(), id, 0, 'p', created_at, ${now}::timestamptz - interval '1 minute', ${now}
      from databases where id not in (select database_id from timelines)`.execute(world.db);
    await sql`update timelines set archived_through = ${now}::timestamptz - interval '1 minute'`.execute(world.db);
    // Packed, so that the rows that become due now are adjacent at both sizes.
    await sql`vacuum full timelines`.execute(world.db);
    await sql`update timelines set archived_through = ${now}
      where id in (select id from timelines order by id limit ${DUE})`.execute(world.db);
    await sql`vacuum analyze timelines`.execute(world.db);
    const { sql: text, parameters } = duePoints(world.db, now, 500).compile();
    const explained = await sql
      .raw<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) ${text
          .replace("$1", `'${now.toISOString()}'`)
          .replace("$2", String(parameters[1]))}`,
      )
      .execute(world.db);
    const plan = explained.rows[0]?.["QUERY PLAN"][0].Plan ?? {};
    expect(plan["Actual Rows"]).toBe(DUE);
    return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  };

  const [few, many] = [await buffersOf(1_000), await buffersOf(20_000)];
  console.log(`daily points, ${DUE} due: ${few} buffers at 1,000 databases, ${many} at 20,000`);
  expect(Math.abs(many / few - 1)).toBeLessThanOrEqual(0.2);
});

/** Its archive has no log 3: the archiver was replaced by a member that did not have it, and `gap_allowed` was set. */
async function withGap(world: World, database: { id: number }, midnight: number) {
  const { account_id, timeline_id } = await world.databaseRow(database.id);
  const timeline = { account_id, timeline_id: timeline_id as string };
  const at = (minutes: number): Date => new Date(midnight + minutes * 60_000);
  const columns = { ...timeline, bytes: 1, gtid: "" };
  const copy = (minutes: number, first_log: number) =>
    world.db
      .insertInto("copies")
      .values({
        ...columns,
        id: randomUUID(),
        started_at: at(minutes - 1),
        ended_at: at(minutes),
        parts: 1,
        manifest_sha256: "c".repeat(64),
        first_log,
      })
      .execute();
  const log = (sequence: number, minutes: number) =>
    world.db
      .insertInto("binary_logs")
      .values({ ...columns, sequence, name: `binlog.00000${sequence}`, closed_at: at(minutes), sha256: "a".repeat(64) })
      .execute();
  await copy(-180, 2);
  for (const [sequence, minutes] of [
    [1, -200],
    [2, -120],
    [4, -30],
    [5, 10],
  ] as const)
    await log(sequence, minutes);
  await world.db.updateTable("timelines").set({ last_log: 5 }).where("id", "=", timeline.timeline_id).execute();
  return { copy, log };
}

test("a midnight that no restore reaches is no backup: its tenant is told, and a base copy is ordered once", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const midnight = midnightAfter(world.time.now).getTime();
  const archive = await withGap(world, database, midnight);
  setClock(world, midnight + 11 * 60_000);
  await archivedThrough(world, database, new Date(midnight + 10 * 60_000));

  await world.run("dailyPoints");
  await world.run("dailyPoints");

  const at = new Date(midnight).toISOString().slice(0, 19);
  const message = texts.dailyPointMissing({ label: database.label, at }).text;
  expect(await dailyOf(world, database)).toEqual([]);
  expect((await world.events()).filter(({ action }) => action === "database_backup_create")).toMatchObject([
    { status: "failed", message },
  ]);
  const notices = async () => (await alice.get<{ data: object[] }>("/v4/account/notifications")).body.data;
  expect(await notices()).toMatchObject([{ message }]);
  expect((await world.nodes())[0]?.desired_spec?.tasks).toMatchObject([{ kind: "copy" }]);

  // The base copy was taken in the morning.
  await archive.copy(60, 6);
  await archive.log(6, 90);
  await world.db.updateTable("timelines").set({ last_log: 6 }).execute();
  setClock(world, midnight + DAY_MS + 60_000);
  await shipped(world, database);
  await world.run("dailyPoints");

  expect((await dailyOf(world, database)).map((point) => point.at)).toEqual([midnight + DAY_MS]);
  expect(await notices()).toEqual([]);
});
