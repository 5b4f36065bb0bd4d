import type { ErrorReply, Event } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld } from "#testing/world.ts";

type Page = { data: Event[]; results: number };
const EVENTS = "/v4/account/events";

test("seen marks everything up to an event, for this user only", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const bob = await world.colleague(alice.accountId);
  for (let n = 0; n < 3; n++) await alice.create();
  const [newest, middle] = (await alice.get<Page>(EVENTS)).body.data;

  expect(await alice.post(`${EVENTS}/${middle?.id}/seen`)).toMatchObject({ status: 200, body: {} });

  const seen = async (reader: Pick<typeof bob, "get">) =>
    (await reader.get<Page>(EVENTS)).body.data.map((event) => event.seen);
  expect(await seen(alice)).toEqual([false, true, true]);
  expect(await seen(bob)).toEqual([false, false, false]);
  // A late request for an older event undoes nothing.
  await alice.post(`${EVENTS}/${newest?.id}/seen`);
  await alice.post(`${EVENTS}/${middle?.id}/seen`);
  expect(await seen(alice)).toEqual([true, true, true]);
});

test("read marks one event, and is repeatable", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  for (let n = 0; n < 2; n++) await alice.create();
  const [newest] = (await alice.get<Page>(EVENTS)).body.data;
  for (let n = 0; n < 2; n++)
    expect(await alice.post(`${EVENTS}/${newest?.id}/read`)).toMatchObject({ status: 200, body: {} });
  expect((await alice.get<Page>(EVENTS)).body.data.map((event) => event.read)).toEqual([true, false]);
  expect(await alice.get(`${EVENTS}/${newest?.id}`)).toMatchObject({ body: { read: true, seen: false } });
});

test("marking another account's event is answered like marking one that does not exist", async () => {
  await using world = await newWorld();
  const [alice, mallory] = [await world.customer(), await world.customer()];
  await alice.create();
  const [event] = (await alice.get<Page>(EVENTS)).body.data;
  for (const action of ["read", "seen"]) {
    const [foreign, missing] = [
      await mallory.post<ErrorReply>(`${EVENTS}/${event?.id}/${action}`),
      await mallory.post<ErrorReply>(`${EVENTS}/7/${action}`),
    ];
    // It names the requested id and nothing else.
    const reason = missing.body.errors[0]?.reason.replace("7", String(event?.id));
    expect(foreign).toMatchObject({ status: 404, body: { errors: [{ reason }] } });
  }
});

test.each([
  ["by entity", (id: number) => ({ "entity.id": id, "entity.type": "database" }), 1],
  ["by action", () => ({ action: "database_delete" }), 0],
  ["by date", () => ({ created: { "+gte": "2020-01-01T00:00:00" } }), 3],
  ["by what was seen", () => ({ seen: false }), 3],
  ["as Terraform requests it", () => ({ "+and": [], "+order": "desc" }), 3],
])("events are filtered %s", async (_name, filter, results) => {
  await using world = await newWorld();
  const alice = await world.customer();
  const made = [await alice.create(), await alice.create(), await alice.create()];
  const reply = await world.send({
    url: EVENTS,
    headers: { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify(filter(made[1]?.body.id ?? 0)) },
  });
  expect(reply.statusCode).toBe(200);
  expect(reply.json<Page>().results).toBe(results);
});
