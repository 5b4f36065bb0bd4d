import type { Event } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";
import { emit } from "./emit.ts";
import { createEventPartitionsJob } from "./event-partitions.ts";

const EVENTS = "/v4/account/events";
const DAY_MS = 86_400_000;
type Page = { data: Event[]; results: number };
type Reader = Awaited<ReturnType<World["customer"]>>;

const entity = { id: 7, label: "shop", type: "database", url: "/v4/databases/mysql/instances/7" };

async function eventAt(world: World, { accountId, username }: Reader, at: Date): Promise<number> {
  await sql`select ensure_event_partitions(${at}, 1)`.execute(world.db);
  return world.db
    .transaction()
    .execute((tx) => emit(tx, { accountId, username, action: "database_create", status: "finished", entity, at }));
}
const listed = async (world: World, { token }: Reader, filter: object) => {
  const headers = { authorization: `Bearer ${token}`, "x-filter": JSON.stringify(filter) };
  const { data, results } = (await world.send({ url: EVENTS, headers })).json<Page>();
  return { ids: data.map(({ id }) => id), results };
};
const partitions = async ({ db }: World): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`.execute(
    db,
  );
  return rows.map(({ name }) => name);
};

test.each([
  ["an unrestricted user", {}],
  ["a restricted one", { restricted: true }],
])("%s sees an event for exactly 90 days: in lists, filtered, by id and to mark", async (_, who) => {
  await using world = await newWorld();
  const reader = await world.customer(who);
  await world.db
    .updateTable("users")
    .set({ name_since: new Date(0) })
    .execute();
  const emitted = world.time.now;
  const id = await eventAt(world, reader, emitted);
  const younger = await eventAt(world, reader, new Date(emitted.getTime() + 1000));
  const answers = async () => ({
    plain: await listed(world, reader, {}),
    filtered: await listed(world, reader, { action: "database_create" }),
    view: (await reader.get(`${EVENTS}/${id}`)).status,
    read: (await reader.post(`${EVENTS}/${id}/read`)).status,
    seen: (await reader.post(`${EVENTS}/${id}/seen`)).status,
  });

  world.time.now = new Date(emitted.getTime() + 90 * DAY_MS);
  const both = { ids: [younger, id], results: 2 };
  expect(await answers()).toEqual({ plain: both, filtered: both, view: 200, read: 200, seen: 200 });

  world.time.now = new Date(world.time.now.getTime() + 1000);
  const one = { ids: [younger], results: 1 };
  expect(await answers()).toEqual({ plain: one, filtered: one, view: 404, read: 404, seen: 404 });
});

test("partitions are dropped as their events expire, none with an event of the last 90 days", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const start = world.time.now.getTime();
  const job = createEventPartitionsJob(world);
  const emitted: { id: number; at: number }[] = [];

  for (let day = 0; day <= 200; day++) {
    world.time.now = new Date(start + day * DAY_MS);
    await job();
    emitted.push({ id: await eventAt(world, alice, world.time.now), at: world.time.now.getTime() });
    if (day % 25 !== 0) continue;
    const kept = new Set((await world.events()).map(({ id }) => id));
    const since = world.time.now.getTime() - 90 * DAY_MS;
    expect(emitted.filter(({ id, at }) => at >= since && !kept.has(id))).toEqual([]);
    // A week's partition is dropped when its last day has expired.
    expect(emitted.filter(({ id, at }) => at < since - 8 * DAY_MS && kept.has(id))).toEqual([]);
  }
  // 90 days, the week of the oldest of them, and the weeks ahead.
  expect((await partitions(world)).length).toBeLessThanOrEqual(13 + 1 + 9);
});

test("a transaction that reads events postpones the drop of a partition to the next round", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const id = await eventAt(world, alice, world.time.now);
  await alice.post(`${EVENTS}/${id}/read`);
  world.time.now = new Date(world.time.now.getTime() + 98 * DAY_MS);
  const fresh = await eventAt(world, alice, world.time.now);
  await alice.post(`${EVENTS}/${fresh}/read`);
  const job = createEventPartitionsJob(world);
  const marks = async () => (await world.db.selectFrom("event_reads").select("event_id").execute()).length;

  await world.db.transaction().execute(async (tx) => {
    await tx.selectFrom("events").select("id").execute();
    await expect(job()).rejects.toThrow("lock timeout");
    expect((await alice.get<Page>(EVENTS)).body.results).toBe(1);
  });
  expect([(await world.events()).length, await marks()]).toEqual([2, 2]);

  await job();
  expect([(await world.events()).map((event) => event.id), await marks()]).toEqual([[fresh], 1]);
});
