import { expect, test } from "vitest";
import { archiveWorld } from "#testing/archived-database.ts";
import { createObjectsJob } from "./objects-job.ts";
import { createPurgeJob } from "../backups/purge-job.ts";

const DAY_MS = 86_400_000;
type Fixture = Awaited<ReturnType<typeof archiveWorld>>;

const jobOf = ({ world, store }: Fixture) => createObjectsJob({ ...world, archivePurge: store.purging });
const purgeOf = ({ world, store }: Fixture) => createPurgeJob({ ...world, archivePurge: store.purging });
const later = ({ world }: Fixture, days: number): void => {
  world.time.now = new Date(world.time.now.getTime() + days * DAY_MS);
};

/** All rows of the databases' archives, by table. */
async function rows({ world: { db } }: Fixture): Promise<Record<string, number>> {
  const tables = ["archives", "timelines", "copies", "binary_logs", "backups", "keyrings", "node_alerts"] as const;
  const counts: Record<string, number> = {};
  for (const table of tables) counts[table] = (await db.selectFrom(table).selectAll().execute()).length;
  return counts;
}
const nothing = { archives: 0, timelines: 0, copies: 0, binary_logs: 0, backups: 0, keyrings: 0, node_alerts: 0 };

test("objects marked for deletion, and parts without a manifest, go when nobody reads them", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { prefix, upload, uploadCopy, uploadLog, reportArchived } = await fixture.database();
  const [old, kept] = [await uploadCopy(-6, -5), await uploadCopy(-3, -2)];
  await upload(`copies/${old.id}/part-000009`, "nobody knows");
  await reportArchived({ copies: [old, kept], logs: [await uploadLog(1, -4), await uploadLog(2, -1)] });
  const doomed = { doomed_at: world.time.now };
  await world.db.updateTable("copies").set(doomed).where("id", "=", old.id).execute();
  await world.db.updateTable("binary_logs").set(doomed).where("sequence", "=", 1).execute();

  await jobOf(fixture)();
  expect(await store.keys()).toHaveLength(9);
  later(fixture, 0.25);
  await jobOf(fixture)();
  await jobOf(fixture)();

  const stays = [`copies/${kept.id}/manifest.json`, `copies/${kept.id}/part-000001`, `copies/${kept.id}/part-000002`];
  expect(await store.keys()).toEqual([...stays, "logs/binlog.000002"].map((name) => prefix + name));
  expect(await rows(fixture)).toMatchObject({ copies: 1, binary_logs: 1 });
});

test("a copy that a backup still names stays, even if it is marked for deletion", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { id, customer, timeline, uploadCopy, reportArchived } = await fixture.database();
  const copy = await uploadCopy(-2, -1);
  await reportArchived({ copies: [copy] });
  await world.db
    .insertInto("backups")
    .values({
      account_id: customer.accountId,
      database_id: id,
      timeline_id: timeline,
      type: "snapshot",
      label: "s",
      copy_id: copy.id,
      point_at: world.time.now,
      created_at: world.time.now,
    })
    .execute();
  await world.db.updateTable("copies").set({ doomed_at: world.time.now }).execute();
  later(fixture, 1);

  await jobOf(fixture)();

  expect(await store.keys()).toHaveLength(3);
  expect(await rows(fixture)).toMatchObject({ copies: 1 });
});

test("while the store is unavailable no row is deleted, and the next round continues", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { uploadCopy, uploadLog, reportArchived } = await fixture.database();
  await reportArchived({ copies: [await uploadCopy(-2, -1)], logs: [await uploadLog(1, -1)] });
  await world.db.updateTable("copies").set({ doomed_at: world.time.now }).execute();
  await world.db.updateTable("binary_logs").set({ doomed_at: world.time.now }).execute();
  later(fixture, 1);

  await store.stop();
  await jobOf(fixture)();
  expect(world.stuck().get("objects")).toBe(3);
  expect(await rows(fixture)).toMatchObject({ copies: 1, binary_logs: 1 });
  await store.start();
  await jobOf(fixture)();

  expect(await store.keys()).toEqual([]);
  expect(await rows(fixture)).toMatchObject({ copies: 0, binary_logs: 0 });
});

test("parts of an unfinished copy are deleted after two days; a copy in progress stays", async () => {
  await using fixture = await archiveWorld();
  const { store } = fixture;
  const { prefix, upload, uploadCopy, reportArchived } = await fixture.database();
  const whole = await uploadCopy(-2, -1, ["one"]);
  await reportArchived({ copies: [whole] });
  await upload("copies/11111111-1111-4111-8111-111111111111/part-000001", "unfinished");

  later(fixture, 1.5);
  await jobOf(fixture)();
  expect(await store.keys()).toHaveLength(3);
  later(fixture, 1);
  await jobOf(fixture)();

  const stays = [`copies/${whole.id}/manifest.json`, `copies/${whole.id}/part-000001`];
  expect(await store.keys()).toEqual(stays.map((name) => prefix + name));
});

test("unreported lost transactions are deleted after eight days; reported ones stay as long as their row", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { id, customer, node, timeline, prefix, upload } = await fixture.database();
  const [reported, unreported] = ["lost/2.00000000000000aa", "lost/3.00000000000000bb"];
  for (const name of [reported, unreported]) await upload(name, "transactions");
  const { now } = world.time;
  await world.db
    .insertInto("lost_transactions")
    .values({
      account_id: customer.accountId,
      database_id: id,
      timeline_id: timeline,
      node_id: node,
      name: reported,
      gtid: "",
      transactions: 1,
      bytes: 12,
      sha256: "",
      saved_at: now,
      expires_at: now,
    })
    .execute();

  later(fixture, 7.9);
  await jobOf(fixture)();
  expect(await store.keys()).toEqual([reported, unreported].map((name) => prefix + name));
  later(fixture, 2);
  await jobOf(fixture)();
  expect(await store.keys()).toEqual([prefix + reported]);
});

test("each timeline is compared with the store once a day", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  await fixture.database();
  const swept = async () =>
    (await world.db.selectFrom("timelines").select("swept_at").executeTakeFirstOrThrow()).swept_at;
  await jobOf(fixture)();
  const first = await swept();
  later(fixture, 0.5);
  await jobOf(fixture)();
  expect(await swept()).toEqual(first);
  later(fixture, 0.6);
  await jobOf(fixture)();
  expect(await swept()).toEqual(world.time.now);
});

/** A database deleted by its tenant and gone from its host, with some of everything in the archive. */
async function deletedDatabase(fixture: Fixture) {
  const { world } = fixture;
  const database = await fixture.database();
  const { id, customer, timeline, call, upload, uploadCopy, uploadLog, reportArchived } = database;
  const copy = await uploadCopy(-2, -1);
  await reportArchived({ copies: [copy], logs: [await uploadLog(1, -3), await uploadLog(2, 0)] });
  await upload("copies/11111111-1111-4111-8111-111111111111/part-000001", "unfinished");
  await call("/v1/keyring", { keyring: "AAAA" });
  await call("/v1/verified", { timeline, point: { at: world.time.now.toISOString() }, ok: true, message: "fine" });
  const backup = { account_id: customer.accountId, database_id: id, timeline_id: timeline, created_at: world.time.now };
  await world.db
    .insertInto("backups")
    .values([
      { ...backup, type: "snapshot", label: "s", copy_id: copy.id, point_at: world.time.now },
      { ...backup, type: "auto", label: "d", copy_id: null, point_at: world.time.now },
    ])
    .execute();
  const remove = async () => {
    await world.db.updateTable("databases").set({ status: "active" }).where("id", "=", id).execute();
    expect(await customer.delete(`/v4/databases/mysql/instances/${id}`)).toMatchObject({ status: 200 });
    await world.db.updateTable("nodes").set({ tombstoned: true, released_at: world.time.now }).execute();
    await world.db.updateTable("operations").set({ settled_at: world.time.now }).execute();
  };
  return { ...database, copy, remove };
}

test("everything of a deleted database is kept until its retention ends, and then purged", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { id, remove } = await deletedDatabase(fixture);
  const other = await fixture.database();
  await other.reportArchived({ logs: [await other.uploadLog(1, 0)] });
  await remove();
  const before = await rows(fixture);

  later(fixture, 6.9);
  await purgeOf(fixture)();
  expect(await rows(fixture)).toEqual(before);
  later(fixture, 0.2);
  await purgeOf(fixture)();
  await purgeOf(fixture)();

  expect(await store.keys()).toEqual([`${other.prefix}logs/binlog.000001`]);
  expect(await rows(fixture)).toEqual({ ...nothing, archives: 1, timelines: 1, binary_logs: 1 });
  expect(await world.databaseRow(id)).toMatchObject({ purge_at: null, timeline_id: null });
  expect((await world.audit()).filter(({ action }) => action === "purge_database")).toHaveLength(1);
});

test("a purge interrupted by an unavailable store is finished later, with no way back in between", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { id, remove } = await deletedDatabase(fixture);
  await remove();
  later(fixture, 7.1);

  await store.stop();
  await purgeOf(fixture)();
  expect(world.stuck().get("purge")).toBe(1);
  expect(await rows(fixture)).toMatchObject({ copies: 1, archives: 1 });
  world.time.now = new Date(world.time.now.getTime() - DAY_MS); // // another process, whose clock is behind
  expect(await world.operator.post(`/admin/databases/${id}/undelete`, {})).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("Nothing is kept") }] },
  });
  later(fixture, 1.1);
  await store.start();
  await purgeOf(fixture)();

  expect(await store.keys()).toEqual([]);
  expect(await rows(fixture)).toEqual(nothing);
});

test("a database that a host still has is not purged before its upload addresses have expired", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { id, remove } = await deletedDatabase(fixture);
  await remove();
  await world.db.updateTable("nodes").set({ released_at: null }).execute();
  await world.db.updateTable("databases").set({ purge_at: world.time.now }).where("id", "=", id).execute();

  await purgeOf(fixture)();
  expect(await rows(fixture)).toMatchObject({ copies: 1 });
  later(fixture, 0.1);
  await purgeOf(fixture)();

  expect(await store.keys()).toEqual([]);
});

test("a source is kept while a fork starts from it, and purged when the fork has copies of its own", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const source = await deletedDatabase(fixture);
  const fork = await fixture.database();
  await world.db
    .updateTable("timelines")
    .set({ prepared: null, parent_id: source.timeline, parent_until: new Date(source.minute(-0.5)) })
    .where("id", "=", fork.timeline)
    .execute();
  await source.remove();
  await world.db.updateTable("nodes").set({ tombstoned: false }).where("id", "=", fork.node).execute();

  later(fixture, 7.1);
  await purgeOf(fixture)();
  expect(await rows(fixture)).toMatchObject({ archives: 2, copies: 1 });
  const copy = await fork.uploadCopy(1, 2);
  expect(await fork.reportArchived({ copies: [copy] })).toMatchObject({ status: 200 });
  later(fixture, 9);
  await purgeOf(fixture)();

  expect(await store.keys(source.prefix)).toEqual([]);
  expect(await rows(fixture)).toMatchObject({ archives: 1, timelines: 1, copies: 1, keyrings: 0 });
  const orphan = await world.db.selectFrom("timelines").selectAll().executeTakeFirstOrThrow();
  expect(orphan).toMatchObject({ id: fork.timeline, parent_id: null, parent_until: null });
});
