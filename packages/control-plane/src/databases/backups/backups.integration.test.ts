import { expect, test } from "vitest";
import { activeDatabase, databaseFixture } from "#testing/active-database.ts";
import { hasBackup, later } from "#testing/archive-records.ts";
import { newWorld, type World } from "#testing/world.ts";
import { markVerified } from "./backup-store.ts";

type List = { results: number; data: { id: number; type: string; label: string; created: string }[] };

const listOf = async (world: World, token: string, url: string, filter: object = {}) =>
  (
    await world.send({
      url: `${url}/backups`,
      headers: { authorization: `Bearer ${token}`, "x-filter": JSON.stringify(filter) },
    })
  ).json<List>();

/** A snapshot, and two daily backups of later days. */
async function withBackups(world: World) {
  const fixture = await databaseFixture(world);
  const snapshot = await hasBackup(world, fixture.database, "snapshot");
  later(world, 86_400);
  const first = await hasBackup(world, fixture.database);
  later(world, 86_400);
  const second = await hasBackup(world, fixture.database);
  return { ...fixture, snapshot, first, second, url: `${fixture.database.url}/backups` };
}

test("backups are listed by id, filtered by type and by their restore time", async () => {
  await using world = await newWorld();
  const { alice, database, snapshot, first, second } = await withBackups(world);
  const idsOf = async (filter: object) =>
    (await listOf(world, alice.token, database.url, filter)).data.map(({ id }) => id);

  expect(await idsOf({})).toEqual([snapshot.id, first.id, second.id]);
  expect(await idsOf({ type: "auto" })).toEqual([first.id, second.id]);
  const since = first.point_at.toISOString().slice(0, 19);
  expect(await idsOf({ created: { "+gte": since } })).toEqual([first.id, second.id]);
  expect(await idsOf({ "+order_by": "created", "+order": "desc" })).toEqual([second.id, first.id, snapshot.id]);
  const page = await alice.get<List & { pages: number }>(`${database.url}/backups?page=2&page_size=25`);
  expect(page.body).toMatchObject({ results: 3, pages: 1, data: [] });
});

test("a backup of another database or another account is not found", async () => {
  await using world = await newWorld();
  const { alice, host, snapshot } = await withBackups(world);
  const other = await activeDatabase(world, alice, host);
  const mallory = await world.customer();
  const theirs = await activeDatabase(world, mallory, host);

  for (const [customer, url] of [
    [alice, other.url],
    [mallory, theirs.url],
  ] as const) {
    expect(await customer.get(`${url}/backups/${snapshot.id}`)).toMatchObject({ status: 404 });
    expect(await customer.delete(`${url}/backups/${snapshot.id}`)).toMatchObject({ status: 404 });
  }
  expect(await world.db.selectFrom("backups").select("id").execute()).toHaveLength(3);
});

test("a deleted backup, also a daily one, is gone at once, with its event, and does not come back", async () => {
  await using world = await newWorld();
  const { alice, database, url, snapshot, first, second } = await withBackups(world);

  expect(await alice.delete(`${url}/${first.id}`)).toMatchObject({ status: 200, body: {} });

  expect((await alice.get(`${url}/${first.id}`)).status).toBe(404);
  expect((await alice.delete(`${url}/${first.id}`)).status).toBe(404);
  await world.run("dailyPoints");
  expect((await listOf(world, alice.token, database.url)).data.map(({ id }) => id)).toEqual([snapshot.id, second.id]);
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_backup_delete", status: "finished" });
  expect((await world.audit()).at(-1)).toMatchObject({ action: "delete_backup", target: `database/${database.id}` });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
});

test("a deleted snapshot's copy is deleted only when it is older than the restore window needs", async () => {
  await using world = await newWorld();
  const { alice, database, url, snapshot, first, second } = await withBackups(world);
  const other = await hasBackup(world, database, "snapshot");
  const doomed = async () =>
    (await world.db.selectFrom("copies").select("id").where("doomed_at", "is not", null).execute()).map(({ id }) => id);

  await alice.delete(`${url}/${other.id}`);
  expect(await doomed()).toEqual([]);

  // Both copies are older than the window now: it starts from the later one, and the daily backups from the other.
  later(world, 20 * 86_400);
  await alice.delete(`${url}/${snapshot.id}`);
  expect(await doomed()).toEqual([]);

  for (const { id } of [first, second]) await alice.delete(`${url}/${id}`);
  expect(await doomed()).toEqual([snapshot.copy_id]);
});

test("a snapshot can be deleted during a restore from it, and its copy stays for the restore", async () => {
  await using world = await newWorld();
  const { alice, url, snapshot } = await withBackups(world);
  later(world, 20 * 86_400);
  expect((await alice.post(`${url}/${snapshot.id}/restore`)).status).toBe(200);

  expect((await alice.delete(`${url}/${snapshot.id}`)).status).toBe(200);

  const kept = await world.db.selectFrom("copies").select("id").where("doomed_at", "is", null).execute();
  expect(kept).toEqual([{ id: snapshot.copy_id }]);
});

test("the result of a verification is shown with its backup", async () => {
  await using world = await newWorld();
  const { alice, database, url, first, second } = await withBackups(world);
  const row = await world.databaseRow(database.id);
  const verify = (detail: object) =>
    world.db.transaction().execute((tx) => markVerified(tx, row, detail, world.time.now));

  await verify({ point: { backup: second.id, at: "" }, ok: true });
  later(world, 60);
  await verify({ point: { at: "" } });

  const at = new Date(world.time.now.getTime() - 60_000).toISOString().slice(0, 19);
  expect((await alice.get(`${url}/${second.id}`)).body).toMatchObject({ verified: at });
  expect((await alice.get(`${url}/${first.id}`)).body).toMatchObject({ verified: null });
  expect(await world.databaseRow(database.id)).toMatchObject({ verified_at: world.time.now });
});
