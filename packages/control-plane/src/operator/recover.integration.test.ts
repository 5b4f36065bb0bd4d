import type { Statement } from "@moorage/contract/agent";
import type { Recovery } from "@moorage/contract/operator";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { activeOnAgent, INSTANCES } from "#testing/active-database.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { type SimulatedAgent, simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;
type Cell = { world: World; gateway: Gateway; agent: SimulatedAgent; alice: Customer };

async function newCell(world: World, gateway: Gateway): Promise<Cell> {
  const agent = simulateAgent(gateway, await gateway.enrolledHost());
  await agent.poll();
  return { world, gateway, agent, alice: await world.customer() };
}

async function activeDatabase({ world, agent, alice }: Cell, customer: Customer = alice) {
  const database = await activeOnAgent(world, customer, agent);
  return { ...database, name: `${database.label} (${database.id})` };
}

async function deleteDatabase({ world, agent, alice }: Cell, url: string): Promise<void> {
  await alice.delete(url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  await agent.poll();
  await world.activities.endChange(id, { done: true });
}

/** Runs the operator's command while the agents keep polling. */
async function recover({ world }: Cell, agents: readonly SimulatedAgent[], body: object = {}) {
  let done = false;
  const command = world.operator.post<Recovery>("/admin/recover", { wait_seconds: 300, ...body }).finally(() => {
    done = true;
  });
  await Promise.all(
    agents.map(async (agent) => {
      while (!done) await agent.poll();
    }),
  );
  return command;
}
const installation = (world: World) => world.db.selectFrom("installation").selectAll().executeTakeFirstOrThrow();

test("a host that knows a later state stops changes, with the reason; reads continue", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const kept = await activeDatabase(cell);
  const setBack = await copyOf(world.db);
  await activeDatabase(cell);
  await setBack();

  await cell.agent.poll();

  for (const reply of [await cell.alice.create(), await cell.alice.delete(kept.url)])
    expect(reply).toMatchObject({
      status: 503,
      body: { errors: [{ reason: expect.stringContaining("The control plane was restored") }] },
    });
  expect(await cell.alice.get(kept.url)).toMatchObject({ status: 200, body: { status: "active" } });
  expect((await world.db.selectFrom("operations").select("id").execute()).length).toBe(1);
});

test("recovery allows changes again in a higher epoch, and skips ids that were assigned and lost", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  await activeDatabase(cell);
  const told = { ...(cell.agent.at.told as Statement), epoch: 4 };
  Object.assign(cell.agent.at, { epoch: 4, told: gateway.signed.statement(cell.agent.hostId, told) });
  await cell.agent.poll();
  const sequence = async (name: string) =>
    (await sql<{ last: number }>`select last_value as last from ${sql.table(name)}`.execute(world.db)).rows[0]?.last ??
    0;
  const before = await sequence("operations_seq");

  const reply = await recover(cell, [cell.agent]);

  expect(reply).toMatchObject({ status: 200, body: { epoch: 5, hosts: 1, kept: 1, missing: [] } });
  expect(await installation(world)).toMatchObject({ epoch: 5, set_back_at: null, recovery_epoch: null });
  expect((await sequence("operations_seq")) - before).toBeGreaterThanOrEqual(1_000_000);
  expect(await cell.alice.create()).toMatchObject({ status: 200 });
  await cell.agent.poll();
  expect([...cell.agent.specs.values()]).toMatchObject([{ epoch: 5, generation: 1 }]);
});

test("a database created after the backup is adopted completely, with a new password", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const { alice, agent } = cell;
  const setBack = await copyOf(world.db);
  const lost = await activeDatabase(cell);
  const before = {
    host: await world.hostRow((await world.nodes())[0]?.host_id ?? 0),
    view: (await alice.get(lost.url)).body,
  };
  const password = (await alice.get(`${lost.url}/credentials`)).body["password"];
  await setBack();
  expect(await alice.get(lost.url)).toMatchObject({ status: 404 });

  const { body } = await recover(cell, [agent]);

  expect(body).toMatchObject({ adopted: [lost.name], kept: 0, orphans: [] });
  expect((await alice.get(lost.url)).body).toEqual({ ...before.view, updated: expect.anything() });
  expect((await alice.get(`${lost.url}/credentials`)).body["password"]).not.toBe(password);
  expect(await world.account(alice.accountId)).toMatchObject({
    databases: 1,
    nodes: 1,
    memory_mb: 1024,
    disk_mb: 10_240,
  });
  expect(await world.hostRow(before.host.id)).toMatchObject({ reserved_memory_mb: 1024, reserved_disk_mb: 10_240 });
  expect(await world.events()).toMatchObject([
    { action: "database_create", status: "finished", message: expect.stringContaining("new password") },
  ]);
  expect((await world.audit()).map(({ action }) => action)).toContain("recover_database");
  await agent.poll();
  expect([...agent.specs.values()]).toMatchObject([{ epoch: 2, credentials: { version: 2 } }]);
});

test("an adopted database can be deleted, and its reservation and quota are freed", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const setBack = await copyOf(world.db);
  const lost = await activeDatabase(cell);
  await setBack();
  await recover(cell, [cell.agent]);

  await deleteDatabase(cell, lost.url);

  const [host] = await world.db.selectFrom("hosts").selectAll().execute();
  expect(host).toMatchObject({ reserved_memory_mb: 0, reserved_disk_mb: 0 });
  expect(await world.account(cell.alice.accountId)).toMatchObject({ databases: 0, memory_mb: 0 });
});

test("a database whose label was reused meanwhile is adopted under another", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const setBack = await copyOf(world.db);
  const lost = await activeDatabase(cell);
  await setBack({ unnoticed: true });
  // The sequence is ahead, as with a backup that is a few changes older; only the label collides.
  await sql`select setval('databases_seq', 1000)`.execute(world.db);
  expect(await cell.alice.create({ label: lost.label })).toMatchObject({ status: 200 });

  await recover(cell, [cell.agent]);

  expect((await cell.alice.get(lost.url)).body).toMatchObject({ label: `${lost.label.slice(0, 12)}-${lost.id}` });
});

test("a database deleted after the backup stays deleted, and its quota is returned once", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const [gone, kept] = [await activeDatabase(cell), await activeDatabase(cell)];
  const setBack = await copyOf(world.db);
  await deleteDatabase(cell, gone.url);
  await setBack();
  expect(await cell.alice.get(gone.url)).toMatchObject({ status: 200 });

  const { body } = await recover(cell, [cell.agent]);

  expect(body).toMatchObject({ deleted: [gone.name], kept: 1, adopted: [], missing: [] });
  expect(await cell.alice.get(gone.url)).toMatchObject({ status: 404 });
  expect(await cell.alice.get(kept.url)).toMatchObject({ status: 200 });
  expect(await world.account(cell.alice.accountId)).toMatchObject({ databases: 1, memory_mb: 1024 });
  const [host] = await world.db.selectFrom("hosts").selectAll().execute();
  expect(host).toMatchObject({ reserved_memory_mb: 1024 });
});

test("a deletion in progress in the backup that the host has completed is ended, once", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const gone = await activeDatabase(cell);
  await cell.alice.delete(gone.url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  const setBack = await copyOf(world.db);
  await cell.agent.poll();
  await setBack();

  await recover(cell, [cell.agent]);
  await world.activities.endChange(id, { done: true });

  expect(await world.openOperations()).toEqual([]);
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_delete", status: "finished" });
  expect(await world.account(cell.alice.accountId)).toMatchObject({ databases: 0, memory_mb: 0 });
});

test("a deletion that expired before the backup returns no quota a second time", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const [gone] = [await activeDatabase(cell), await activeDatabase(cell)];
  await cell.alice.delete(gone.url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  await world.expire(id);
  const setBack = await copyOf(world.db);
  await cell.agent.poll();
  await setBack();

  await recover(cell, [cell.agent]);

  expect(await world.account(cell.alice.accountId)).toMatchObject({ databases: 1, nodes: 1, memory_mb: 1024 });
});

test("an active database that its host does not know is reported missing, and not recreated", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const database = await activeDatabase(cell);
  cell.agent.specs.clear();

  const { body } = await recover(cell, [cell.agent]);
  await cell.agent.poll();

  expect(body).toMatchObject({ missing: [database.name], kept: 0, deleted: [] });
  expect([...cell.agent.specs.keys()]).toEqual([]);
  expect(await cell.alice.get(database.url)).toMatchObject({ status: 200 });
});

test("a creation that was in progress continues", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const { body: database } = await cell.alice.create();
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);

  const { body } = await recover(cell, [cell.agent]);
  await cell.agent.poll();

  expect(body).toMatchObject({ kept: 1, missing: [] });
  expect(await world.checkPhase(id, "running")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });
  expect((await cell.alice.get(`${INSTANCES}/${database.id}`)).body).toMatchObject({ status: "active" });
});

test("a node of an unknown account is reported as an orphan, and left alone", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const setBack = await copyOf(world.db);
  const newcomer = await world.customer();
  await activeDatabase(cell, newcomer);
  await setBack();
  const before = new Map(cell.agent.specs);

  const { body } = await recover(cell, [cell.agent]);
  await cell.agent.poll();

  expect(body).toMatchObject({ orphans: [expect.stringContaining(`of account ${newcomer.accountId}`)], adopted: [] });
  expect(cell.agent.specs).toEqual(before);
});

test("an unreachable host is named and blocks recovery, until the operator excludes it", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  await activeDatabase(cell);
  const silent = await gateway.enrolledHost();

  const refused = await recover(cell, [cell.agent], { wait_seconds: 0.5 });

  expect(refused).toMatchObject({ status: 503, body: { errors: [{ reason: expect.stringContaining(silent.name) }] } });
  expect(await cell.alice.create()).toMatchObject({ status: 503 });
  expect(await recover(cell, [cell.agent], { without: [silent.name] })).toMatchObject({
    status: 200,
    body: { epoch: 2, hosts: 1, kept: 1 },
  });
  expect(await cell.alice.create()).toMatchObject({ status: 200 });
});

test("a plan of an installation that needs no recovery is refused, and tenants notice nothing", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const { epoch } = await installation(world);

  const { status, body } = await recover(cell, [cell.agent], { plan: true });

  expect([status, body]).toEqual([400, { errors: [{ reason: texts.recoveryNotNeeded().text }] }]);
  expect(await cell.alice.create()).toMatchObject({ status: 200 });
  expect(await installation(world)).toMatchObject({ epoch, set_back_at: null });
});

test("a plan names what the recovery will do and changes nothing, and the recovery then does it", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const gone = await activeDatabase(cell);
  const setBack = await copyOf(world.db);
  const lost = await activeDatabase(cell);
  await deleteDatabase(cell, gone.url);
  await setBack();
  const rows = async () => [
    await world.db.selectFrom("databases").selectAll().orderBy("id").execute(),
    (await world.nodes()).map(({ id, desired_spec, tombstoned }) => ({ id, desired_spec, tombstoned })),
    await world.events(),
  ];
  await cell.agent.poll();
  const before = await rows();

  const { body: plan } = await recover(cell, [cell.agent], { plan: true });

  expect(plan).toMatchObject({ plan: true, adopted: [lost.name], deleted: [gone.name] });
  expect(await rows()).toEqual(before);
  expect(await cell.alice.create()).toMatchObject({ status: 503 });

  const { body: found } = await recover(cell, [cell.agent]);
  expect(found).toEqual({ ...plan, plan: false });
  expect(await cell.alice.get(gone.url)).toMatchObject({ status: 404 });
  expect(await cell.alice.get(lost.url)).toMatchObject({ body: { status: "active" } });
});

test("recovering twice is harmless", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const cell = await newCell(world, gateway);
  const kept = await activeDatabase(cell);
  const setBack = await copyOf(world.db);
  const lost = await activeDatabase(cell);
  await setBack();
  await recover(cell, [cell.agent]);
  const state = async () => ({
    account: await world.account(cell.alice.accountId),
    hosts: (await world.db.selectFrom("hosts").selectAll().execute()).map(
      ({ reserved_memory_mb, reserved_disk_mb }) => [reserved_memory_mb, reserved_disk_mb],
    ),
    databases: await world.db.selectFrom("databases").selectAll().orderBy("id").execute(),
    events: await world.events(),
  });
  const after = await state();

  const again = await recover(cell, [cell.agent]);

  expect(again).toMatchObject({ status: 200, body: { epoch: 3, kept: 2, adopted: [], deleted: [], missing: [] } });
  expect(await state()).toEqual(after);
  await cell.agent.poll();
  const received = [...cell.agent.specs.values()].map(({ database, epoch, tombstone }) => [
    database.id,
    epoch,
    tombstone,
  ]);
  expect(new Map(received.map((one) => [one[0], one]))).toEqual(
    new Map([kept, lost].map(({ id }) => [id, [id, 3, undefined]])),
  );
});
