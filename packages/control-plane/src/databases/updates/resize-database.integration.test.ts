import { expect, test } from "vitest";
import { activeDatabase, HOME, OFFICE, databaseFixture, updatesOf, desiredSpec } from "#testing/active-database.ts";
import { newWorld, PLAN, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";
import { texts as operationTexts } from "../workflows/texts.ts";

const LARGE = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };
/** More disk, less memory. */
const DEEP = { ...LARGE, id: "m1-deep", memory_mb: 512 };

async function createFixtureWithPlans(world: World) {
  for (const plan of [LARGE, DEEP]) await world.operator.post("/admin/plans", plan);
  return databaseFixture(world);
}

const eventsOf = async (world: World) =>
  (await world.events())
    .filter(({ action }) => action !== "database_create")
    .map(({ action, status }) => `${action} ${status}`);

const sizes = async (world: World, host: { id: number }, accountId: number) => {
  const { reserved_memory_mb, reserved_disk_mb } = await world.hostRow(host.id);
  const { databases, nodes, memory_mb, disk_mb } = await world.account(accountId);
  return {
    host: [reserved_memory_mb, reserved_disk_mb],
    account: [databases, nodes, memory_mb, disk_mb],
    nodes: (await world.nodes()).map((node) => [node.memory_mb, node.disk_mb]),
  };
};
const sizeOf = ({ memory_mb, disk_mb }: { memory_mb: number; disk_mb: number }) => ({
  host: [memory_mb, disk_mb],
  account: [1, 1, memory_mb, disk_mb],
  nodes: [[memory_mb, disk_mb]],
});
const SMALL = { memory_mb: 1024, disk_mb: 10_240 };

test("a larger type is shown at once, sent to the host, and done when the host has it", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await createFixtureWithPlans(world);

  const reply = await alice.put(database.url, { type: LARGE.id, label: "grown" });

  expect(reply).toMatchObject({
    status: 200,
    body: { status: "updating", type: LARGE.id, label: "grown", total_disk_size_gb: 40 },
  });
  const operation = await world.lastOperation();
  expect(operation).toMatchObject({ kind: "resizeDatabase", input: { previous: { plan: PLAN } } });
  expect(operation.deadline_at.getTime() - world.time.now.getTime()).toBe(900_000);
  expect(await eventsOf(world)).toEqual([
    "database_resize_create notification",
    "database_update started",
    "database_resize started",
  ]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "resize_database", target: `database/${database.id}` });

  expect(await world.activities.applyChange(operation.id)).toBe("requested");
  expect(await desiredSpec(world)).toMatchObject({
    generation: 2,
    resources: { memory_mb: 4096, disk_mb: 40_960, vcpus: 2 },
    database: { plan: LARGE.id },
  });
  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(LARGE));
  await host.report(await desiredSpec(world), "running");
  expect(await world.checkPhase(operation.id, "change")).toEqual({ state: "observed" });
  await world.activities.endChange(operation.id, { done: true });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", type: LARGE.id });
  expect((await eventsOf(world)).slice(1)).toEqual(["database_update finished", "database_resize finished"]);
  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(LARGE));
  expect(await desiredSpec(world)).toMatchObject({ generation: 2 });
});

test("given up, plan, reserved room, the account's limits and the desired state are as before", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await createFixtureWithPlans(world);
  await alice.put(database.url, { type: LARGE.id });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await host.report(await desiredSpec(world), "failed", { message: "volume: xfs_growfs failed" });

  await world.activities.endChange(id, {
    done: false,
    message: texts.hostReported({ message: "volume: xfs_growfs failed" }),
  });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", type: PLAN, total_disk_size_gb: 10 });
  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(SMALL));
  expect(await desiredSpec(world)).toMatchObject({ generation: 3, resources: { disk_mb: 10_240, memory_mb: 1024 } });
  expect((await world.events()).slice(-2)).toMatchObject(
    ["database_update", "database_resize"].map((action) => ({
      action,
      status: "failed",
      message: texts.resizeFailed({ why: "volume: xfs_growfs failed" }).text,
    })),
  );
  expect(await alice.put(database.url, { type: LARGE.id })).toMatchObject({ status: 200 });
});

test("without room on its host nothing is sent or reserved, and the event has the reason", async () => {
  await using world = await newWorld();
  for (const plan of [LARGE, DEEP]) await world.operator.post("/admin/plans", plan);
  const [alice, host] = [await world.customer(), await world.host({ disk_mb: 40_959 })];
  const database = await activeDatabase(world, alice, host);
  await alice.put(database.url, { type: LARGE.id });
  const { id } = await world.lastOperation();

  expect(await world.activities.applyChange(id)).toBe("no room");
  expect((await sizes(world, host, alice.accountId)).host).toEqual([1024, 10_240]);
  await world.activities.endChange(id, { done: false, message: operationTexts.noCapacityOnHost() });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", type: PLAN });
  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(SMALL));
  expect((await updatesOf(world)).at(-1)).toMatchObject({
    status: "failed",
    message: texts.resizeFailed({ why: operationTexts.noCapacityOnHost().text }).text,
  });
});

test("trash on the host's disk does not count as free", async () => {
  await using world = await newWorld();
  await world.operator.post("/admin/plans", LARGE);
  const [alice, host] = [await world.customer(), await world.host({ disk_mb: 40_960 })];
  const database = await activeDatabase(world, alice, host);
  await world.db.updateTable("host_leases").set({ trash_mb: 1 }).execute();
  await alice.put(database.url, { type: LARGE.id });

  expect(await world.activities.applyChange((await world.lastOperation()).id)).toBe("no room");
});

test("with less memory, the old size stays reserved until the host has the new one", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await createFixtureWithPlans(world);
  await alice.put(database.url, { type: DEEP.id });
  const { id } = await world.lastOperation();

  await world.activities.applyChange(id);
  expect((await sizes(world, host, alice.accountId)).host).toEqual([1024, 40_960]);
  await world.activities.endChange(id, { done: true });

  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(DEEP));
});

test("a resize beyond the account's limits is refused, and leaves nothing behind", async () => {
  await using world = await newWorld();
  await world.operator.post("/admin/plans", LARGE);
  const [alice, host] = [await world.customer({ limits: { disk_mb: 40_959 } }), await world.host()];
  const database = await activeDatabase(world, alice, host);
  const before = { row: await world.databaseRow(database.id), events: await world.events() };

  expect(await alice.put(database.url, { type: LARGE.id, label: "grown" })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("40959 MB of disk") }] },
  });

  expect({ row: await world.databaseRow(database.id), events: await world.events() }).toEqual(before);
  expect((await sizes(world, host, alice.accountId)).account).toEqual([1, 1, 1024, 10_240]);
});

test.each([
  ["an unknown type", { type: "m9-huge" }, [texts.typeNotLarger({ current: PLAN, larger: ["m1-deep", "m1-large"] })]],
  ["type and list together", { type: LARGE.id, allow_list: OFFICE }, [texts.typeChangedWithAllowList()]],
])("%s is refused on the field type", async (_, body, reasons) => {
  await using world = await newWorld();
  const { alice, database } = await createFixtureWithPlans(world);

  const reply = await alice.put<{ errors: { field: string; reason: string }[] }>(database.url, body);

  expect(reply.status).toBe(400);
  expect(reply.body.errors).toEqual(
    reasons.map((reason) => ({ field: "type", reason: expect.stringContaining(reason.text) })),
  );
  expect(await world.openOperations()).toEqual([]);
});

test("a deprecated plan cannot be chosen but can be left; a smaller one is refused with the larger ones", async () => {
  await using world = await newWorld();
  const { alice, database } = await createFixtureWithPlans(world);
  await world.operator.post("/admin/plans", { ...LARGE, deprecated: true });
  await world.operator.post("/admin/plans", { ...SMALL, id: PLAN, label: "S", class: "c", vcpus: 1, deprecated: true });

  expect(await alice.put(database.url, { type: LARGE.id })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "type", reason: `type must be a valid value: m1-deep (more disk than ${PLAN})` }] },
  });
  expect(await alice.put(database.url, { type: DEEP.id })).toMatchObject({ status: 200 });
  await world.activities.endChange((await world.lastOperation()).id, { done: true });
  expect(await alice.put(database.url, { type: PLAN })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "type", reason: "type must be a valid value: none has more disk than m1-deep" }] },
  });
});

test("the present type, sent with a new list, is no resize", async () => {
  await using world = await newWorld();
  const { alice, database } = await createFixtureWithPlans(world);

  expect(await alice.put(database.url, { type: PLAN, allow_list: OFFICE })).toMatchObject({ status: 200 });
  expect(await world.openOperations()).toEqual(["applyAllowList"]);
});

test("the same list in another spelling, sent with a larger type, is a resize", async () => {
  await using world = await newWorld();
  const { alice, database } = await createFixtureWithPlans(world);

  expect(await alice.put(database.url, { type: LARGE.id, allow_list: HOME.map((each) => `${each}/32`) })).toMatchObject(
    {
      status: 200,
    },
  );
  expect(await world.openOperations()).toEqual(["resizeDatabase"]);
});

test("repeated and concurrent requests and settlements take effect once", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await createFixtureWithPlans(world);
  await alice.put(database.url, { type: LARGE.id });
  const { id } = await world.lastOperation();

  await Promise.all([world.activities.applyChange(id), world.activities.applyChange(id)]);
  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(LARGE));
  await Promise.all([1, 2].map(() => world.activities.endChange(id, { done: false })));
  await world.expire(id);

  expect(await sizes(world, host, alice.accountId)).toEqual(sizeOf(SMALL));
  expect(await desiredSpec(world)).toMatchObject({ generation: 3 });
  expect(await world.activities.applyChange(id)).toBe("not there");
  expect((await world.audit()).filter(({ action }) => action === "resizeDatabase.failed")).toHaveLength(1);
});
