import { updateMysqlDatabase } from "@moorage/contract";
import { expect, test } from "vitest";
import {
  activeDatabase,
  aMinuteLater,
  HOME,
  INSTANCES,
  OFFICE,
  databaseFixture,
  updatesOf,
  desiredSpec,
} from "#testing/active-database.ts";
import { newWorld, PLAN, UPDATE_SECONDS } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

test("a changed list makes the database updating, with operation, audit entry and event in one commit", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const nudges = world.nudges.relay;

  const reply = await alice.put(database.url, { allow_list: OFFICE });

  expect(reply.status).toBe(200);
  expect(updateMysqlDatabase.reply.parse(reply.body)).toMatchObject({ status: "updating", allow_list: OFFICE });
  const operation = await world.lastOperation();
  expect(operation).toMatchObject({
    kind: "applyAllowList",
    entity_id: database.id,
    input: { previous: { allow_list: HOME } },
  });
  expect(operation.deadline_at.getTime() - world.time.now.getTime()).toBe(UPDATE_SECONDS * 1000);
  expect(await updatesOf(world)).toMatchObject([
    { id: operation.event_id, status: "started", username: alice.username },
  ]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "update_database", target: `database/${database.id}` });
  expect(world.nudges.relay).toBe(nudges + 1);
});

test("label and window change at once: active, and the event is finished", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  aMinuteLater(world);
  const window = { frequency: "monthly", duration: 1, hour_of_day: 4, day_of_week: 1, week_of_month: 3 };

  const reply = await alice.put(database.url, { label: "renamed", updates: window });

  expect(reply).toMatchObject({ status: 200, body: { label: "renamed", status: "active", updates: window } });
  expect(reply.body["updated"]).not.toBe(database.updated);
  expect((await alice.get(database.url)).body).toEqual(reply.body);
  expect(await updatesOf(world)).toMatchObject([
    { status: "finished", entity_label: "renamed", finished_at: world.time.now },
  ]);
  expect(await world.openOperations()).toEqual([]);
});

test.each([
  ["nothing", {}],
  ["the same again", { allow_list: HOME, type: PLAN, cluster_size: 1, engine: "mysql", replication_type: "none" }],
  ["unknown fields", { engine_config: {}, private_network: null, used_disk_size_gb: 7 }],
])("a PUT of %s changes nothing, and has its event", async (_, body) => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const { body: before } = await alice.get(database.url);

  expect(await alice.put(database.url, body)).toMatchObject({ status: 200, body: before });

  expect(await updatesOf(world)).toMatchObject([{ status: "finished", operation_id: null }]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "update_database" });
  expect(await desiredSpec(world)).toMatchObject({ generation: 1 });
});

test("a list in another order and spelling is shown as sent, and no host is contacted", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host, { allow_list: ["203.0.113.7", "2001:db8::1"] });
  const respelt = ["2001:DB8:0::1/128", "203.0.113.7/32", "203.0.113.7"];

  const reply = await alice.put(database.url, { allow_list: respelt });

  expect(reply).toMatchObject({ status: 200, body: { status: "active", allow_list: respelt } });
  expect(await world.openOperations()).toEqual([]);
});

test("an object that was read can be sent back whole", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const { body } = await alice.get(database.url);

  expect(await alice.put(database.url, body)).toMatchObject({
    status: 200,
    body: { ...body, updated: expect.anything() },
  });
  expect(await world.openOperations()).toEqual([]);
});

test("every wrong field is refused at once by its dotted name, and nothing is left behind", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const before = {
    row: await world.databaseRow(database.id),
    audit: await world.audit(),
    events: await world.events(),
  };
  const fieldsOf = async (body: unknown) => {
    const reply = await alice.put<{ errors: { field: string; reason: string }[] }>(database.url, body);
    expect(reply.status).toBe(400);
    return reply.body.errors.map(({ field }) => field).toSorted();
  };

  expect(
    await fieldsOf({
      label: "x",
      allow_list: ["203.0.113.7", "nowhere", "203.0.113.7/24"],
      updates: { frequency: "daily", duration: 4, hour_of_day: 24, day_of_week: 0, week_of_month: 5 },
    }),
  ).toEqual([
    "allow_list[1]",
    "allow_list[2]",
    "label",
    "updates.day_of_week",
    "updates.duration",
    "updates.frequency",
    "updates.hour_of_day",
    "updates.week_of_month",
  ]);
  expect(await fieldsOf({ updates: { duration: 0, hour_of_day: -1, day_of_week: 8, week_of_month: 0 } })).toHaveLength(
    4,
  );
  expect(await fieldsOf({ updates: { duration: "3", hour_of_day: 1.5 } })).toHaveLength(2);
  expect(await fieldsOf({ updates: [] })).toEqual(["updates"]);
  expect(await fieldsOf({ allow_list: Array(10_001).fill("203.0.113.7") })).toEqual(["allow_list"]);
  expect(
    await fieldsOf({ updates: { frequency: "monthly" }, region: "mars", type: "m9-huge", cluster_size: 3 }),
  ).toEqual(["cluster_size", "region", "type", "updates.week_of_month"]);
  expect({
    row: await world.databaseRow(database.id),
    audit: await world.audit(),
    events: await world.events(),
  }).toEqual(before);
});

test("a partial window is merged, and validated as a whole", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const put = async (window: object) => (await alice.put(database.url, { updates: window })).body["updates"];

  expect(await put({ frequency: "monthly", week_of_month: 2 })).toMatchObject({
    frequency: "monthly",
    week_of_month: 2,
  });
  expect(await put({ day_of_week: 3 })).toMatchObject({ frequency: "monthly", week_of_month: 2, day_of_week: 3 });
  expect(await put({ frequency: "weekly" })).toMatchObject({ week_of_month: null, day_of_week: 3, duration: 3 });
  expect(await alice.put(database.url, { updates: { frequency: "monthly" } })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "updates.week_of_month" }] },
  });
});

test("another database's label is refused, even in two concurrent requests", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const other = await activeDatabase(world, alice, host);

  expect(await alice.put(other.url, { label: database.label })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "label", reason: expect.stringContaining("is taken") }] },
  });
  const both = await Promise.all([database, other].map(({ url }) => alice.put(url, { label: "shared" })));
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  const bob = await world.customer();
  expect(await bob.create({ label: "shared" })).toMatchObject({ status: 200 });
});

test("of two concurrent PUTs that change the list one is accepted, the other refused with the status", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);

  const replies = await Promise.all(
    [OFFICE, []].map((allow_list) => alice.put<{ errors?: object[] }>(database.url, { allow_list })),
  );

  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect(replies.find(({ status }) => status === 400)?.body.errors).toEqual([
    { reason: texts.wrongStatus({ action: "update", status: "updating", allowed: ["active", "degraded"] }).text },
  ]);
  expect(await world.openOperations()).toEqual(["applyAllowList"]);
});

test("a PUT needs an active or degraded database; a wrong body is reported before the wrong status", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create()).body;
  const url = `${INSTANCES}/${id}`;

  expect(await alice.put(url, { label: "renamed" })).toMatchObject({
    status: 400,
    body: {
      errors: [
        {
          reason: texts.wrongStatus({ action: "update", status: "provisioning", allowed: ["active", "degraded"] }).text,
        },
      ],
    },
  });
  expect(await alice.put(url, { region: "mars" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "region" }] },
  });
  expect(await updatesOf(world)).toEqual([]);
});

test("a database that is updating can be read, but not deleted", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await alice.put(database.url, { allow_list: OFFICE });

  expect(await alice.delete(database.url)).toMatchObject({ status: 400 });
  expect(await alice.get(`${database.url}/credentials`)).toMatchObject({ status: 200 });
});

test("nothing is updated while a restored control plane is compared with its hosts", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await world.db.updateTable("installation").set({ set_back_at: world.time.now }).execute();

  for (const body of [{ allow_list: OFFICE }, { label: "renamed" }, {}])
    expect(await alice.put(database.url, body)).toMatchObject({ status: 503 });

  expect(await updatesOf(world)).toEqual([]);
});
