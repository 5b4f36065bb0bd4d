import { beforeAll, expect, test } from "vitest";
import { runStatement, type Door, doorOf, clientA } from "../kit/client.ts";
import { brokenInvariants } from "../kit/invariants.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";
import { until } from "../kit/until.ts";

const alice = tenant();
const megabytes = Number(process.env["MOORAGE_LIFECYCLE_MB"] ?? 1024);

beforeAll(() => allowDeletions(100));

/** What each part of the story took, for people to read. */
const timings: string[] = [];
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  timings.push(`${what} ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return result;
}

const sql = (door: Door, statement: string, seconds = 300) => runStatement(clientA(), door, statement, { seconds });

const CHUNK_MB = 16;
/** Rows of 16 KiB that compress as text does, made by the server itself, so that the wire is not what is measured. */
async function fill(door: Door, size: number): Promise<void> {
  await sql(door, "create database shop; create table shop.pages (id int auto_increment primary key, page mediumtext)");
  const some = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000) select";
  const page = "concat(repeat(concat(sha2(concat(i, rand()), 512), ' a line of a page that people wrote '), 100))";
  for (let done = 0; done < size; done += CHUNK_MB)
    await sql(door, `insert into shop.pages (page) ${some} ${page} from n`);
}

const checksum = (door: Door): Promise<string> =>
  sql(door, "checksum table shop.pages; select count(*) from shop.pages");

test("a tenant's database from its creation to its end: data, backups, pasts, sizes, pauses", async () => {
  const { body: created } = await timed("create", async () => {
    const reply = await alice.create(unique("life"), undefined, { encrypted: true });
    expect(reply).toMatchObject({ status: 200, body: { encrypted: true } });
    await alice.untilStatus(reply.body.id, "active", 120);
    return reply;
  });
  const { id } = created;
  const door = await doorOf(alice, id);

  await timed(`load ${megabytes} MB`, () => fill(door, megabytes));
  const fullChecksum = await checksum(door);
  await timed("snapshot", () =>
    alice.actAndWait(id, "backups", "database_backup_create", { label: "before-the-damage" }, 600),
  );
  const [snapshot] = await alice.backups(id);
  expect(snapshot).toMatchObject({ type: "snapshot", label: "before-the-damage" });

  await sql(door, "delete from shop.pages where id % 2 = 0; update shop.pages set page = 'gone' limit 100");
  expect(await checksum(door)).not.toBe(fullChecksum);
  await timed("restore", () =>
    alice.actAndWait(id, `backups/${snapshot?.id}/restore`, "database_backup_restore", undefined, 900),
  );
  expect(await checksum(door)).toBe(fullChecksum);

  const between = await twoInsertsApart(door);
  const fork = await timed("fork to a second", async () => {
    const { status, body } = await alice.create(unique("fork"), undefined, {
      encrypted: true,
      fork: { source: id, restore_time: between },
    });
    expect([status, body]).toMatchObject([200, {}]);
    await alice.untilStatus(body.id, "active", 900);
    return body.id;
  });
  const forked = await doorOf(alice, fork);
  expect(await sql(forked, "select note from shop.notes order by id")).toBe("first");
  expect(await checksum(forked)).toBe(fullChecksum);
  expect(await sql(door, "select note from shop.notes order by id")).toBe("first\nsecond");

  await timed("reset of the credentials", () =>
    alice.actAndWait(id, "credentials/reset", "database_credentials_reset"),
  );
  await expect(sql(door, "select 1")).rejects.toThrow(/Access denied/);
  const anew = await doorOf(alice, id);
  expect(await sql(anew, "select count(*) from shop.notes")).toBe("2");

  await timed("resize", async () => {
    expect((await alice.update(id, { type: "m1-medium" })).status).toBe(200);
    await alice.untilEvent(id, "database_resize", 300);
  });
  expect((await alice.view(id)).body).toMatchObject({ status: "active", type: "m1-medium", total_disk_size_gb: 20 });
  expect(Number(await sql(anew, "select @@innodb_buffer_pool_size"))).toBeGreaterThan(448 * 2 ** 20);

  await timed("suspend", () => alice.actAndWait(id, "suspend", "database_update"));
  expect((await alice.view(id)).body.status).toBe("suspended");
  await expect(sql(anew, "select 1")).rejects.toThrow(/connect/);
  await timed("resume", () => alice.actAndWait(id, "resume", "database_update"));
  expect(await checksum(anew)).toBe(fullChecksum);

  await timed("delete", async () => {
    for (const each of [id, fork]) expect((await alice.delete(each)).status).toBe(200);
    expect((await alice.view(id)).status).toBe(404);
    for (const each of [id, fork]) await alice.untilEvent(each, "database_delete", 120);
  });
  await until("rows and hosts agree", 60, async () => (await brokenInvariants()).length === 0);
  console.log(`story of ${megabytes} MB: ${timings.join(", ")}`);
}, 3_600_000);

/** A time between two rows, as the tenant would say it. */
async function twoInsertsApart(door: Door): Promise<string> {
  await sql(door, "create table shop.notes (id int auto_increment primary key, note text)");
  await sql(door, "insert into shop.notes (note) values ('first')");
  const between = await sql(door, "do sleep(1.1); select date_format(now(), '%Y-%m-%dT%H:%i:%s'); do sleep(1.1)");
  await sql(door, "insert into shop.notes (note) values ('second')");
  return between;
}

test("a fork of another account's database is refused as one that does not exist", async () => {
  const { id } = await alice.createSurely(unique("theirs"));
  await alice.untilStatus(id, "active", 120);
  const other = tenant(env("MOORAGE_OTHER_TOKEN"));

  const reply = await other.create(unique("stolen"), undefined, { fork: { source: id } });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "fork.source" }] } });
  await alice.deleteSurely(id);
  await alice.untilEvent(id, "database_delete");
});
