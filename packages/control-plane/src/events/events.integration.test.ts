import type { Event } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";
import { emit } from "./emit.ts";

const EVENTS = "/v4/account/events";
type EventPage = { data: Event[]; page: number; pages: number; results: number };
const entity = { id: 7, label: "shop", type: "database", url: "/v4/databases/mysql/instances/7" };

const emitOne = (world: World, accountId: number, at = world.time.now) =>
  world.db
    .transaction()
    .execute((tx) => emit(tx, { accountId, username: "u", action: "database_create", status: "finished", entity, at }));

test("an account's event sequence has no gap after 30 concurrent creates, and ids rise with it", async () => {
  await using world = await newWorld();
  const limits = { databases: 20, nodes: 20 };
  const [alice, bob] = [await world.customer({ limits }), await world.customer({ limits })];

  await Promise.all(Array.from({ length: 15 }, () => [alice.create(), bob.create()]).flat());

  for (const { accountId } of [alice, bob]) {
    const own = (await world.events()).filter(({ account_id }) => account_id === accountId);
    expect(own.map(({ seq }) => seq)).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
    expect(own.map(({ id }) => id)).toEqual(own.map(({ id }) => id).toSorted((a, b) => a - b));
  }
});

test("a refused change leaves no gap", async () => {
  await using world = await newWorld();
  const alice = await world.customer({ limits: { databases: 1 } });
  await alice.create();
  await alice.create();

  await emitOne(world, alice.accountId);

  expect((await world.events()).map(({ seq }) => seq)).toEqual([1, 2]);
});

test("an event's id is exact in a double and carries day, sequence and cell", async () => {
  await using world = await newWorld();
  const { accountId } = await world.customer();

  const id = BigInt(await emitOne(world, accountId));

  const days = BigInt(Math.floor((world.time.now.getTime() - Date.UTC(2024, 0, 1)) / 86_400_000));
  expect([id >> 40n, (id >> 10n) & 0x3fffffffn, id & 1023n]).toEqual([days, 1n, 1n]);
  expect(id).toBeLessThan(2n ** 53n);
});

test("ids stay exact for twenty years, with the highest sequence and cell", async () => {
  await using world = await newWorld();
  await sql`update installation set cell = 1023`.execute(world.db);
  await sql`select setval('events_seq', (1::bigint << 30) - 2)`.execute(world.db);

  const { rows } = await sql<{ id: number }>`select next_event_id('2044-01-01'::timestamptz) as id`.execute(world.db);

  expect(Number.isSafeInteger(rows[0]?.id)).toBe(true);
});

test("pages are newest first, without overlap, and empty after the end", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  for (let n = 0; n < 51; n++) await emitOne(world, alice.accountId);
  const ids = (await world.events()).map(({ id }) => id).reverse();
  const page = async (n: number) => (await alice.get<EventPage>(`${EVENTS}?page=${n}&page_size=25`)).body;

  const pages = [await page(1), await page(2), await page(3), await page(4)];

  expect(pages.map(({ data }) => data.length)).toEqual([25, 25, 1, 0]);
  expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(ids);
  for (const one of pages) expect(one).toMatchObject({ pages: 3, results: 51 });
});

test("an event looks the same by its id as in the list", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create({ label: "shop" })).body;

  const { data } = (await alice.get<EventPage>(EVENTS)).body;

  expect(data).toMatchObject([
    { action: "database_create", status: "started", entity: { id, label: "shop", type: "database" }, duration: 0 },
  ]);
  expect((await alice.get(`${EVENTS}/${data[0]?.id}`)).body).toEqual(data[0]);
});

test.each([
  ["oauth_client", "12345678901234567890", "12345678901234567890"],
  ["entity_transfer", "7", "7"],
  ["database", "7", 7],
  ["user", "7", 7],
])("the id of an entity of type %s, %s, is shown as elsewhere", async (type, kept, id) => {
  await using world = await newWorld();
  const { accountId, ...alice } = await world.customer();
  const of = { id: kept, label: "app", type, url: "/v4" };
  await world.db.transaction().execute((tx) =>
    emit(tx, {
      accountId,
      username: "u",
      action: "oauth_client_create",
      status: "finished",
      at: world.time.now,
      entity: of,
      secondaryEntity: of,
    }),
  );

  const { data } = (await alice.get<EventPage>(EVENTS)).body;

  expect(data).toMatchObject([{ entity: { ...of, id }, secondary_entity: { ...of, id } }]);
  const filtered = await world.send({
    url: EVENTS,
    headers: { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify({ "entity.id": id }) },
  });
  expect(filtered.json<EventPage>().results).toBe(1);
});

test("creating partitions is repeatable, and an event goes into the partition of its week", async () => {
  await using world = await newWorld();
  const { accountId } = await world.customer();
  const at = new Date(world.time.now.getTime() + 20 * 7 * 86_400_000);
  await expect(emitOne(world, accountId, at)).rejects.toThrow("no partition");

  for (let n = 0; n < 2; n++) await sql`select ensure_event_partitions(${at}::timestamptz, 1)`.execute(world.db);
  const id = await emitOne(world, accountId, at);

  const { rows } = await sql<{
    name: string;
  }>`select tableoid::regclass::text as name from events where id = ${id}`.execute(world.db);
  const week = Math.floor((at.getTime() - Date.UTC(2024, 0, 1)) / (7 * 86_400_000));
  expect(rows).toEqual([{ name: `events_w${week}` }]);
});

test("the audit cannot be changed, deleted or emptied", async () => {
  await using world = await newWorld();
  await world.customer();

  for (const statement of ["update audit set actor = 'nobody'", "delete from audit", "truncate audit"])
    await expect(sql.raw(statement).execute(world.db)).rejects.toThrow("append-only");
});
