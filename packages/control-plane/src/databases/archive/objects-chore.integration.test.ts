import { expect, test } from "vitest";
import { archiveWorld } from "#testing/archived-database.ts";
import { createObjectsChore } from "./objects-chore.ts";
import { createPurgeChore } from "./purge-chore.ts";

const DAY_MS = 86_400_000;
type Stage = Awaited<ReturnType<typeof archiveWorld>>;

const choreOf = ({ world, store }: Stage) => createObjectsChore({ ...world, objects: store.objects });
const purgeOf = ({ world, store }: Stage) => createPurgeChore({ ...world, objects: store.objects });
const later = ({ world }: Stage, days: number): void => {
  world.time.now = new Date(world.time.now.getTime() + days * DAY_MS);
};

/** Everything that is kept of the pasts of databases, by table. */
async function rows({ world: { db } }: Stage): Promise<Record<string, number>> {
  const tables = ["archives", "timelines", "copies", "binary_logs", "backups", "keyrings", "findings"] as const;
  const counts: Record<string, number> = {};
  for (const table of tables) counts[table] = (await db.selectFrom(table).selectAll().execute()).length;
  return counts;
}
const nothing = { archives: 0, timelines: 0, copies: 0, binary_logs: 0, backups: 0, keyrings: 0, findings: 0 };

test("what is doomed vanishes, with parts that no manifest knows, when nobody reads it any more; the rest stays", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { prefix, upload, uploadCopy, uploadLog, tell } = await stage.database();
  const [old, kept] = [await uploadCopy(-6, -5), await uploadCopy(-3, -2)];
  await upload(`copies/${old.id}/part-000009`, "nobody knows");
  await tell({ copies: [old, kept], logs: [await uploadLog(1, -4), await uploadLog(2, -1)] });
  const doomed = { doomed_at: world.time.now };
  await world.db.updateTable("copies").set(doomed).where("id", "=", old.id).execute();
  await world.db.updateTable("binary_logs").set(doomed).where("sequence", "=", 1).execute();

  await choreOf(stage)();
  expect(await store.keys()).toHaveLength(9);
  later(stage, 0.25);
  await choreOf(stage)();
  await choreOf(stage)();

  const stays = [`copies/${kept.id}/manifest.json`, `copies/${kept.id}/part-000001`, `copies/${kept.id}/part-000002`];
  expect(await store.keys()).toEqual([...stays, "logs/binlog.000002"].map((name) => prefix + name));
  expect(await rows(stage)).toMatchObject({ copies: 1, binary_logs: 1 });
});

test("a copy that a backup still names stays, whatever was doomed", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { id, customer, timeline, uploadCopy, tell } = await stage.database();
  const copy = await uploadCopy(-2, -1);
  await tell({ copies: [copy] });
  await world.db
    .insertInto("backups")
    .values({
      ...{ account_id: customer.accountId, database_id: id, timeline_id: timeline, type: "snapshot", label: "s" },
      ...{ copy_id: copy.id, point_at: world.time.now, created_at: world.time.now },
    })
    .execute();
  await world.db.updateTable("copies").set({ doomed_at: world.time.now }).execute();
  later(stage, 1);

  await choreOf(stage)();

  expect(await store.keys()).toHaveLength(3);
  expect(await rows(stage)).toMatchObject({ copies: 1 });
});

test("while the store is away nothing is forgotten, and the next round goes on", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { uploadCopy, uploadLog, tell } = await stage.database();
  await tell({ copies: [await uploadCopy(-2, -1)], logs: [await uploadLog(1, -1)] });
  await world.db.updateTable("copies").set({ doomed_at: world.time.now }).execute();
  await world.db.updateTable("binary_logs").set({ doomed_at: world.time.now }).execute();
  later(stage, 1);

  await store.stop();
  await expect(choreOf(stage)()).rejects.toThrow(/ECONNREFUSED/);
  expect(await rows(stage)).toMatchObject({ copies: 1, binary_logs: 1 });
  await store.start();
  await choreOf(stage)();

  expect(await store.keys()).toEqual([]);
  expect(await rows(stage)).toMatchObject({ copies: 0, binary_logs: 0 });
});

test("parts of a copy that never became whole go after two days; one that is being made is left alone", async () => {
  await using stage = await archiveWorld();
  const { store } = stage;
  const { prefix, upload, uploadCopy, tell } = await stage.database();
  const whole = await uploadCopy(-2, -1, ["one"]);
  await tell({ copies: [whole] });
  await upload("copies/11111111-1111-4111-8111-111111111111/part-000001", "unfinished");

  later(stage, 1.5);
  await choreOf(stage)();
  expect(await store.keys()).toHaveLength(3);
  later(stage, 1);
  await choreOf(stage)();

  const stays = [`copies/${whole.id}/manifest.json`, `copies/${whole.id}/part-000001`];
  expect(await store.keys()).toEqual(stays.map((name) => prefix + name));
});

test("a tail that nobody was told of goes after eight days; one that has a row stays as long as that", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { id, customer, node, timeline, prefix, upload } = await stage.database();
  const [told, untold] = ["tails/2.00000000000000aa", "tails/3.00000000000000bb"];
  for (const name of [told, untold]) await upload(name, "transactions");
  const { now } = world.time;
  await world.db
    .insertInto("tails")
    .values({
      ...{ account_id: customer.accountId, database_id: id, timeline_id: timeline, node_id: node, name: told },
      ...{ gtid: "", transactions: 1, bytes: 12, sha256: "", saved_at: now, expires_at: now },
    })
    .execute();

  later(stage, 7.9);
  await choreOf(stage)();
  expect(await store.keys()).toEqual([told, untold].map((name) => prefix + name));
  later(stage, 2);
  await choreOf(stage)();
  expect(await store.keys()).toEqual([prefix + told]);
});

test("the past of a timeline is compared with the store once a day", async () => {
  await using stage = await archiveWorld();
  const { world } = stage;
  await stage.database();
  const swept = async () =>
    (await world.db.selectFrom("timelines").select("swept_at").executeTakeFirstOrThrow()).swept_at;
  await choreOf(stage)();
  const first = await swept();
  later(stage, 0.5);
  await choreOf(stage)();
  expect(await swept()).toEqual(first);
  later(stage, 0.6);
  await choreOf(stage)();
  expect(await swept()).toEqual(world.time.now);
});

/** Deleted by its tenant, gone from its host; with a bit of everything in the archive. */
async function deletedDatabase(stage: Stage) {
  const { world } = stage;
  const database = await stage.database();
  const { id, customer, timeline, call, upload, uploadCopy, uploadLog, tell } = database;
  const copy = await uploadCopy(-2, -1);
  await tell({ copies: [copy], logs: [await uploadLog(1, -3), await uploadLog(2, 0)] });
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

test("of a deleted database everything is kept until its time is over, and then nothing remains", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { id, remove } = await deletedDatabase(stage);
  const other = await stage.database();
  await other.tell({ logs: [await other.uploadLog(1, 0)] });
  await remove();
  const before = await rows(stage);

  later(stage, 6.9);
  await purgeOf(stage)();
  expect(await rows(stage)).toEqual(before);
  later(stage, 0.2);
  await purgeOf(stage)();
  await purgeOf(stage)();

  expect(await store.keys()).toEqual([`${other.prefix}logs/binlog.000001`]);
  expect(await rows(stage)).toEqual({ ...nothing, archives: 1, timelines: 1, binary_logs: 1 });
  expect(await world.databaseRow(id)).toMatchObject({ purge_at: null, timeline_id: null });
  expect((await world.audit()).filter(({ action }) => action === "purge_database")).toHaveLength(1);
});

test("a purge that found the store away is done by a later round; there is no way back in between", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { id, remove } = await deletedDatabase(stage);
  await remove();
  later(stage, 7.1);

  await store.stop();
  await expect(purgeOf(stage)()).rejects.toThrow(/ECONNREFUSED/);
  expect(await rows(stage)).toMatchObject({ copies: 1, archives: 1 });
  world.time.now = new Date(world.time.now.getTime() - DAY_MS); // another process, whose clock is behind
  expect(await world.operator.post(`/admin/databases/${id}/undelete`, {})).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("Nothing is kept") }] },
  });
  later(stage, 1);
  await store.start();
  await purgeOf(stage)();

  expect(await store.keys()).toEqual([]);
  expect(await rows(stage)).toEqual(nothing);
});

test("a database that a host still has is not purged before the addresses that it was given have expired", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const { id, remove } = await deletedDatabase(stage);
  await remove();
  await world.db.updateTable("nodes").set({ released_at: null }).execute();
  await world.db.updateTable("databases").set({ purge_at: world.time.now }).where("id", "=", id).execute();

  await purgeOf(stage)();
  expect(await rows(stage)).toMatchObject({ copies: 1 });
  later(stage, 0.1);
  await purgeOf(stage)();

  expect(await store.keys()).toEqual([]);
});

test("a source is kept while a fork begins with it, and goes when the fork stands on its own", async () => {
  await using stage = await archiveWorld();
  const { world, store } = stage;
  const source = await deletedDatabase(stage);
  const fork = await stage.database();
  await world.db
    .updateTable("timelines")
    .set({ prepared: null, parent_id: source.timeline, parent_until: new Date(source.minute(-0.5)) })
    .where("id", "=", fork.timeline)
    .execute();
  await source.remove();
  await world.db.updateTable("nodes").set({ tombstoned: false }).where("id", "=", fork.node).execute();

  later(stage, 7.1);
  await purgeOf(stage)();
  expect(await rows(stage)).toMatchObject({ archives: 2, copies: 1 });
  const copy = await fork.uploadCopy(1, 2);
  expect(await fork.tell({ copies: [copy] })).toMatchObject({ status: 200 });
  later(stage, 9);
  await purgeOf(stage)();

  expect(await store.keys(source.prefix)).toEqual([]);
  expect(await rows(stage)).toMatchObject({ archives: 1, timelines: 1, copies: 1, keyrings: 0 });
  const orphan = await world.db.selectFrom("timelines").selectAll().executeTakeFirstOrThrow();
  expect(orphan).toMatchObject({ id: fork.timeline, parent_id: null, parent_until: null });
});
