import type { Event } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";
import { emit, joinOperation } from "./emit.ts";

const EVENTS = "/v4/account/events";
const compute = { id: 7, label: "web", type: "compute", url: "/v4/compute/instances/7" };
const image = { id: 12, label: "Golden", type: "image", url: "/v4/images/private/12" };
type Page = { data: Event[] };

const imagize = (world: World, accountId: number) =>
  world.db.transaction().execute((tx) =>
    emit(tx, {
      accountId,
      username: "somebody",
      action: "disk_imagize",
      status: "started",
      at: world.time.now,
      entity: compute,
      secondaryEntity: image,
    }),
  );
const grant = (world: World, user: { accountId: number; userId: number }, type: "compute" | "image", id: number) =>
  world.db
    .insertInto("entity_grants")
    .values({
      account_id: user.accountId,
      user_id: user.userId,
      entity_type: type,
      entity_id: id,
      permission: "read_only",
    })
    .execute();

test("an event shows its secondary entity, and most events have none", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await imagize(world, alice.accountId);
  await alice.create();

  const { data } = (await alice.get<Page>(EVENTS)).body;

  expect(data.map(({ action, entity, secondary_entity }) => [action, entity?.id, secondary_entity])).toEqual([
    ["database_create", expect.any(Number), null],
    ["disk_imagize", 7, image],
  ]);
});

test("a grant on either entity shows the event to a restricted user, a grant on another does not", async () => {
  await using world = await newWorld();
  const { accountId } = await world.customer();
  const id = await imagize(world, accountId);
  const newUser = () => world.colleague(accountId, { restricted: true });
  const [byImage, byCompute, byOther, byNumber] = [await newUser(), await newUser(), await newUser(), await newUser()];
  await grant(world, byImage, "image", 12);
  await grant(world, byCompute, "compute", 7);
  await grant(world, byOther, "image", 13);
  // The id of the first entity with the type of the second.
  await grant(world, byNumber, "image", 7);

  for (const [user, count] of [
    [byImage, 1],
    [byCompute, 1],
    [byOther, 0],
    [byNumber, 0],
  ] as const) {
    expect((await user.get<Page>(EVENTS)).body.data).toHaveLength(count);
    expect((await user.get(`${EVENTS}/${id}`)).status).toBe(count === 1 ? 200 : 404);
  }
});

test("a filter by entity finds the primary entity of an event", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await imagize(world, alice.accountId);
  const found = async (filter: object) => {
    const headers = { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify(filter) };
    return (await world.send({ url: EVENTS, headers })).json<Page>().data.length;
  };

  expect(await found({ "entity.type": "compute", "entity.id": 7 })).toBe(1);
  expect(await found({ "entity.type": "image" })).toBe(0);
});

test("an event that existed before its operation shows the operation's progress once attached", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await alice.create();
  const operation = await world.lastOperation();
  await world.db.updateTable("operations").set({ percent: 42 }).where("id", "=", operation.id).execute();
  const id = await imagize(world, alice.accountId);
  const percent = async () => (await alice.get<Event>(`${EVENTS}/${id}`)).body.percent_complete;

  expect(await percent()).toBe(0);
  await world.db.transaction().execute((tx) => joinOperation(tx, id, operation.id));
  expect(await percent()).toBe(42);
});
