import type { NodeSpec } from "@moorage/contract/agent";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { addressOf, uidOf } from "#fleet/index.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

const INSTANCES = "/v4/databases/mysql/instances";
const NO_ROOM = { done: false, message: texts.noCapacityInRegion() };
type Customer = Awaited<ReturnType<World["customer"]>>;
type Host = Awaited<ReturnType<World["host"]>>;

const desiredSpec = async (world: World): Promise<NodeSpec> => (await world.nodes()).at(-1)?.desired_spec as NodeSpec;

/** Creates a database, places it and settles it after its host reports it running. */
async function activeDatabase(world: World, customer: Customer, host: Host) {
  const { body } = await customer.create();
  const { id: operation } = await world.lastOperation();
  await world.activities.setDesiredNodes(operation);
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(operation, { done: true });
  return { ...body, url: `${INSTANCES}/${body.id}`, operation };
}

test("setting the desired nodes twice writes one generation and one reservation", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { body } = await alice.create({ label: "shop" });
  const { id } = await world.lastOperation();

  expect(await world.activities.setDesiredNodes(id)).toBe("requested");
  const first = await world.nodes();
  expect(await world.activities.setDesiredNodes(id)).toBe("requested");

  expect(await world.nodes()).toEqual(first);
  expect(first).toMatchObject([{ host_id: host.id, desired_generation: 1, waiting_operation_id: id }]);
  const port = first[0]?.port as number;
  expect(first[0]?.desired_spec).toMatchObject({
    database: { id: body.id, account: alice.accountId, label: "shop" },
    network: { address: addressOf((await world.hostRow(host.id)).node_network, port), port },
    uid: uidOf(port),
  });
  expect(await world.hostRow(host.id)).toMatchObject({
    reserved_memory_mb: 1024,
    reserved_disk_mb: 10_240,
    revision: 1,
  });
});

test("two concurrent setDesiredNodes of one operation reserve once", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  await alice.create();
  const { id } = await world.lastOperation();

  await Promise.all([world.activities.setDesiredNodes(id), world.activities.setDesiredNodes(id)]);

  expect(await world.nodes()).toHaveLength(1);
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 1024, revision: 1 });
});

test("20 concurrent setDesiredNodes on three hosts give 20 distinct host ports and exact reservations", async () => {
  await using world = await newWorld();
  const hosts = [await world.host(), await world.host(), await world.host()];
  const alice = await world.customer({ limits: { databases: 20, nodes: 20 } });
  await Promise.all(Array.from({ length: 20 }, () => alice.create()));
  const operations = await world.db.selectFrom("operations").select("id").execute();

  const answers = await Promise.all(operations.map(({ id }) => world.activities.setDesiredNodes(id)));

  expect(answers).toEqual(Array(20).fill("requested"));
  const nodes = await world.nodes();
  expect(new Set(nodes.map(({ host_id, port }) => `${host_id}:${port}`)).size).toBe(20);
  for (const { id } of hosts) {
    const own = nodes.filter(({ host_id }) => host_id === id).length;
    expect([6, 7]).toContain(own);
    expect(await world.hostRow(id)).toMatchObject({ reserved_memory_mb: 1024 * own, reserved_disk_mb: 10_240 * own });
  }
});

test("a burst of creates fills a host exactly to its last megabyte", async () => {
  await using world = await newWorld();
  const host = await world.host({ memory_mb: 4096 });
  const alice = await world.customer();
  await Promise.all(Array.from({ length: 8 }, () => alice.create()));
  const operations = await world.db.selectFrom("operations").select("id").execute();

  const answers = await Promise.all(operations.map(({ id }) => world.activities.setDesiredNodes(id)));

  expect(answers.filter((answer) => answer === "requested")).toHaveLength(4);
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 4096 });
});

test("without room the database fails with the reason, and nothing is reserved", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host({ memory_mb: 1023 })];
  const { id, label } = (await alice.create()).body;
  const operation = await world.lastOperation();

  expect(await world.activities.setDesiredNodes(operation.id)).toBe("no room");
  await world.activities.endChange(operation.id, NO_ROOM);

  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({ label, status: "failed", port: null });
  expect(await world.events()).toMatchObject([
    { status: "failed", message: NO_ROOM.message.text, message_code: NO_ROOM.message.code },
  ]);
  expect(await world.nodes()).toEqual([]);
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 0, reserved_disk_mb: 0, revision: 0 });
});

test("settling twice ends the event once, with one audit entry", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  const after = { events: await world.events(), audit: await world.audit(), operation: await world.lastOperation() };
  world.time.now = new Date(world.time.now.getTime() + 60_000);

  await world.activities.endChange(database.operation, { done: false, message: texts.provisionLate() });

  expect({ events: await world.events(), audit: await world.audit(), operation: await world.lastOperation() }).toEqual(
    after,
  );
  expect((await alice.get(database.url)).body).toMatchObject({
    status: "active",
    port: (await desiredSpec(world)).network.port,
  });
  expect(after.audit.map(({ action }) => action)).toEqual(["create_database", "provisionDatabase.done"]);
  expect(after.events).toMatchObject([{ status: "finished" }]);
});

test("setDesiredNodes after the end of its operation reserves nothing", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { id } = (await alice.create()).body;
  const provision = await world.lastOperation();
  await world.expire(provision.id);
  await alice.delete(`${INSTANCES}/${id}`);
  const deletion = await world.lastOperation();
  await world.activities.setTombstones(deletion.id);
  await world.activities.endChange(deletion.id, { done: true });

  await world.activities.setDesiredNodes(provision.id);

  expect(await world.nodes()).toEqual([]);
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 0, revision: 0 });
});

test("a deleted database is gone for its tenant at once, its label is free, and its event is in progress", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);

  expect(await alice.delete(database.url)).toMatchObject({ status: 200, body: {} });

  expect(await alice.get(database.url)).toMatchObject({ status: 404 });
  expect(await alice.get(`${database.url}/credentials`)).toMatchObject({ status: 404 });
  expect(await alice.delete(database.url)).toMatchObject({ status: 404 });
  expect((await alice.get(INSTANCES)).body).toMatchObject({ results: 0 });
  expect(await alice.create({ label: database.label })).toMatchObject({ status: 200 });
  expect(await world.openOperations()).toEqual(["deleteDatabase", "provisionDatabase"]);
  expect((await world.events()).map(({ action, status }) => [action, status])).toEqual([
    ["database_create", "finished"],
    ["database_delete", "started"],
    ["database_create", "started"],
  ]);
});

test("of five concurrent deletes one is accepted", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);

  const replies = await Promise.all(Array.from({ length: 5 }, () => alice.delete(database.url)));

  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 404, 404, 404, 404]);
  expect(await world.openOperations()).toEqual(["deleteDatabase"]);
});

test("a database that is being provisioned cannot be deleted, and the attempt leaves nothing behind", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create()).body;

  const reply = await alice.delete(`${INSTANCES}/${id}`);

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ reason: expect.stringContaining("provisioning") }] } });
  expect(await world.openOperations()).toEqual(["provisionDatabase"]);
  expect(await world.audit()).toHaveLength(1);
});

test("a tombstone carries its operation, and is written once", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  await alice.delete((await activeDatabase(world, alice, host)).url);
  const { id } = await world.lastOperation();

  await world.activities.setTombstones(id);
  await world.activities.setTombstones(id);

  expect(await desiredSpec(world)).toMatchObject({ tombstone: { operation: id }, generation: 2 });
  expect(await world.hostRow(host.id)).toMatchObject({ revision: 2 });
});

test("room and limits are released exactly once, after the host reports the node gone", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  await alice.delete((await activeDatabase(world, alice, host)).url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  const spec = await desiredSpec(world);
  await host.report(spec, "working");

  await world.run("release");
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 1024 });

  await host.report(spec, "gone");
  await world.activities.endChange(id, { done: true });
  await world.activities.endChange(id, { done: true });
  await world.run("release");

  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 0, reserved_disk_mb: 0 });
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 0, nodes: 0, memory_mb: 0, disk_mb: 0 });
  expect((await world.events()).map(({ status }) => status)).toEqual(["finished", "finished"]);
  expect((await world.audit()).map(({ action }) => action).slice(-2)).toEqual([
    "delete_database",
    "deleteDatabase.done",
  ]);
});

test("a database without a node is deleted without a host", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create()).body;
  await world.activities.endChange((await world.lastOperation()).id, NO_ROOM);
  await alice.delete(`${INSTANCES}/${id}`);
  const deletion = await world.lastOperation();

  await world.activities.setTombstones(deletion.id);

  expect(await world.checkPhase(deletion.id, "gone")).toEqual({ state: "observed" });
  await world.activities.endChange(deletion.id, { done: true });
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 0, memory_mb: 0 });
  expect(await world.openOperations()).toEqual([]);
});

test("a provision past its deadline ends failed with a message, and can be deleted", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { id } = (await alice.create()).body;
  const provision = await world.lastOperation();
  await world.activities.setDesiredNodes(provision.id);

  await world.expire(provision.id);

  expect((await alice.get(`${INSTANCES}/${id}`)).body).toMatchObject({ status: "failed" });
  expect(await world.events()).toMatchObject([{ status: "failed", message_code: texts.provisionLate().code }]);
  expect(await alice.delete(`${INSTANCES}/${id}`)).toMatchObject({ status: 200 });
  await world.activities.setTombstones((await world.lastOperation()).id);
  await host.report(await desiredSpec(world), "gone");
  await world.activities.endChange((await world.lastOperation()).id, { done: true });
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 0 });
});

test("a deletion past its deadline keeps its place until the host confirms it", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  await alice.delete((await activeDatabase(world, alice, host)).url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);

  await world.expire(id);
  await world.run("release");
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 1024 });
  expect(await world.events()).toMatchObject([
    {},
    { status: "failed", message_code: texts.deletionUnconfirmed().code },
  ]);
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 0 });

  await host.report(await desiredSpec(world), "gone");
  await world.run("release");
  await world.run("release");
  expect(await world.hostRow(host.id)).toMatchObject({ reserved_memory_mb: 0 });
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 0, memory_mb: 0 });
});

test("a port is reused only after its node was released", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const last = await activeDatabase(world, alice, host);
  const { port } = (await desiredSpec(world)).network;
  await activeDatabase(world, alice, host);
  // Every port of the host has a node.
  await sql`
    insert into nodes (account_id, id, database_id, host_id, ordinal, port, memory_mb, disk_mb, created_at)
    select account_id, gen_random_uuid(), database_id, host_id, 0, free, 0, 0, created_at
    from nodes cross join generate_series(20000, 24093) free
    where nodes.port <> ${port} and free not in (select port from nodes)`.execute(world.db);
  await alice.delete(last.url);
  const deletion = await world.lastOperation();
  await world.activities.setTombstones(deletion.id);
  const removed = (await world.nodes()).find((node) => node.port === port);
  const provisioned = async () => {
    await alice.create();
    return world.activities.setDesiredNodes((await world.lastOperation()).id);
  };

  expect(await provisioned()).toBe("no room");
  await host.report(removed?.desired_spec as NodeSpec, "gone");
  await world.activities.endChange(deletion.id, { done: true });

  expect(await provisioned()).toBe("requested");
  expect((await world.nodes()).filter((node) => node.port === port)).toHaveLength(2);
});
