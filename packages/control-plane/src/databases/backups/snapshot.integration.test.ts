import { randomUUID } from "node:crypto";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setDesiredSpecs } from "#fleet/index.ts";
import { activeOnAgent, desiredSpec } from "#testing/active-database.ts";
import { startGateway } from "#testing/gateway.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { hasBackup, later } from "#testing/archive-records.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts as databaseTexts } from "../model/texts.ts";
import { texts } from "./texts.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

/** An active database on the host of an agent with a real object store, unless `otherwise` overrides its reports. */
async function createFixture(world: World, otherwise?: (spec: NodeSpec) => Partial<NodeReport>) {
  const gateway = await startGateway(world, { objects: store.objects });
  const agent = simulateAgent(gateway, await gateway.enrolledHost(), otherwise);
  const alice = await world.customer();
  await agent.poll();
  const database = await activeOnAgent(world, alice, agent);
  const backups = `${database.url}/backups`;
  return {
    alice,
    agent,
    database,
    backups,
    snapshot: (label: string, more: object = {}) => alice.post(backups, { label, ...more }),
    labels: async () => (await alice.get<{ data: { label: string }[] }>(backups)).body.data.map(({ label }) => label),
    status: async () => (await alice.get(database.url)).body["status"],
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}
const lastEvent = async (world: World) => (await world.events()).at(-1);
const copiesOf = (world: World) => world.db.selectFrom("copies").selectAll().execute();

test("a snapshot is a complete copy in the object store, and a backup only from then on", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);

  expect(await fixture.snapshot("before-upgrade")).toMatchObject({ status: 200, body: {} });
  expect(await fixture.status()).toBe("backing_up");
  expect(await lastEvent(world)).toMatchObject({ action: "database_backup_create", status: "started" });
  const { id, kind } = await world.lastOperation();
  expect(kind).toBe("backUpDatabase");
  expect(await world.activities.requestCopy(id)).toBe("requested");
  expect(await world.checkPhase(id, "copy")).toEqual({ state: "pending" });
  later(world, 12);
  await fixture.agent.poll();
  expect(await world.checkPhase(id, "copy")).toEqual({ state: "observed" });
  expect(await fixture.labels()).toEqual([]);

  await world.activities.endChange(id, { done: true });

  expect(await fixture.status()).toBe("active");
  const { body } = await fixture.alice.get<{ data: { id: number }[] }>(fixture.backups);
  const created = world.time.now.toISOString().slice(0, 19);
  const backup = { type: "snapshot", label: "before-upgrade", created, verified: null };
  expect(body).toMatchObject({ results: 1, data: [backup] });
  expect((await fixture.alice.get(`${fixture.backups}/${body.data[0]?.id}`)).body).toEqual(body.data[0]);
  expect(await lastEvent(world)).toMatchObject({
    status: "finished",
    message: texts.snapshotStored({ bytes: 2_500_000, seconds: 12 }).text,
  });
  const [copy] = await copiesOf(world);
  expect((await store.keys()).filter((key) => key.includes(`copies/${copy?.id}/`))).toHaveLength(2);
  const actions = (await world.audit()).map(({ action }) => action);
  expect(actions.slice(-2)).toEqual(["back_up_database", "backUpDatabase.done"]);
});

test("after the end its host no longer has the task of the copy", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.snapshot("one");
  const { id, input } = await world.lastOperation();
  await world.activities.requestCopy(id);
  expect(await desiredSpec(world)).toMatchObject({ tasks: [{ id: (input as { copy: string }).copy, kind: "copy" }] });
  await fixture.agent.poll();

  await world.activities.endChange(id, { done: true });

  expect(await desiredSpec(world)).not.toHaveProperty("tasks");
});

test("requesting and settling twice gives one copy, one backup and one event", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.snapshot("one");
  const { id } = await world.lastOperation();
  await Promise.all([world.activities.requestCopy(id), world.activities.requestCopy(id)]);
  await fixture.agent.poll();
  await fixture.agent.poll();
  await world.activities.endChange(id, { done: true });
  const after = { events: await world.events(), audit: await world.audit(), spec: await desiredSpec(world) };

  await world.activities.endChange(id, { done: false, message: texts.snapshotLate() });
  expect(await world.activities.requestCopy(id)).toBe("not there");

  expect({ events: await world.events(), audit: await world.audit(), spec: await desiredSpec(world) }).toEqual(after);
  expect([await fixture.labels(), (await copiesOf(world)).length]).toEqual([["one"], 1]);
});

test("the event has the reason why a host cannot take the snapshot, and the database continues", async () => {
  const full = ({ tasks = [] }: NodeSpec): Partial<NodeReport> => ({
    tasks: tasks.map(({ id }) => ({ id, state: "failed", percent: 30, message: "no room for the scratch volume" })),
  });
  await using world = await newWorld();
  await using fixture = await createFixture(world, full);
  await fixture.snapshot("one");
  const { id } = await world.lastOperation();
  await world.activities.requestCopy(id);
  await fixture.agent.poll();
  const progress = await world.checkPhase(id, "copy");
  expect(progress).toEqual({ state: "failed", message: "no room for the scratch volume" });

  await world.activities.endChange(id, {
    done: false,
    message: databaseTexts.hostReported({ message: "no room for the scratch volume" }),
  });

  expect([await fixture.status(), await fixture.labels()]).toEqual(["active", []]);
  expect(await lastEvent(world)).toMatchObject({
    status: "failed",
    message: texts.snapshotFailed({ why: "no room for the scratch volume" }).text,
  });
  expect(await desiredSpec(world)).not.toHaveProperty("tasks");
  expect((await fixture.snapshot("one")).status).toBe(200);
});

test("a snapshot and another operation's task on one host do not wait for each other", async () => {
  const busy = ({ tasks = [] }: NodeSpec): Partial<NodeReport> => ({
    tasks: tasks.map(({ id, kind }) => ({ id, state: kind === "copy" ? "working" : "done", percent: 50 })),
  });
  await using world = await newWorld();
  await using fixture = await createFixture(world, busy);
  const other = await world.lastOperation();
  await fixture.snapshot("one");
  const { id } = await world.lastOperation();
  await world.activities.requestCopy(id);
  const { epoch: _epoch, generation: _generation, ...spec } = await desiredSpec(world);
  const ship = { id: randomUUID(), kind: "ship" } as const;
  const tasks = [...(spec.tasks ?? []), ship];
  await world.db.transaction().execute((tx) => setDesiredSpecs(tx, other.id, "ship", [{ ...spec, tasks }]));

  await world.activities.endChange(id, { done: false, message: texts.snapshotLate() });
  expect(await desiredSpec(world)).toMatchObject({ tasks: [ship] });
  expect(await world.checkPhase(other.id, "ship")).toEqual({ state: "pending" });
  await fixture.agent.poll();
  expect(await world.checkPhase(other.id, "ship")).toEqual({ state: "observed" });
});

test("its event shows the progress of the copy", async () => {
  const halfway = ({ tasks = [] }: NodeSpec): Partial<NodeReport> => ({
    tasks: tasks.map(({ id }) => ({ id, state: "working", percent: 40 })),
  });
  await using world = await newWorld();
  await using fixture = await createFixture(world, halfway);
  await fixture.snapshot("one");
  const { id } = await world.lastOperation();
  await world.activities.requestCopy(id);

  await fixture.agent.poll();

  const { id: eventId } = (await lastEvent(world)) ?? {};
  expect((await fixture.alice.get(`/v4/account/events/${eventId}`)).body).toMatchObject({ percent_complete: 40 });
});

test("a finished task without a copy in the object store is no backup", async () => {
  const liar = ({ tasks = [] }: NodeSpec): Partial<NodeReport> => ({
    tasks: tasks.map(({ id }) => ({ id, state: "done", percent: 100 })),
  });
  await using world = await newWorld();
  await using fixture = await createFixture(world, liar);
  await fixture.snapshot("one");
  const { id } = await world.lastOperation();
  await world.activities.requestCopy(id);
  await fixture.agent.poll();

  await world.activities.endChange(id, { done: true });

  expect([await fixture.status(), await fixture.labels()]).toEqual(["active", []]);
  expect(await lastEvent(world)).toMatchObject({
    status: "failed",
    message: texts.snapshotFailed({ why: texts.snapshotMissing().text }).text,
  });
});

test("past its deadline it is given up, and a late copy is marked for deletion", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await fixture.snapshot("one");
  const { id } = await world.lastOperation();
  await world.activities.requestCopy(id);
  await fixture.agent.poll();

  await world.expire(id);

  expect([await fixture.status(), await fixture.labels()]).toEqual(["active", []]);
  expect(await lastEvent(world)).toMatchObject({
    status: "failed",
    message: texts.snapshotFailed({ why: texts.snapshotLate().text }).text,
  });
  expect(await copiesOf(world)).toMatchObject([{ doomed_at: world.time.now }]);
});

test.each([
  ["", {}, "label"],
  ["with space", {}, "label"],
  ["x".repeat(31), {}, "label"],
  ["Scheduled-20260101-0000", {}, "label"],
  ["one", { target: "secondary" }, "target"],
  ["one", { target: "both" }, "target"],
])("a snapshot %j with %j is refused on the field %s", async (label, more, field) => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);

  expect(await fixture.snapshot(label, more)).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  expect([await fixture.status(), await world.openOperations()]).toEqual(["active", []]);
});

test("a label is unique among the database's backups, and another database may have it too", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const { label } = await hasBackup(world, fixture.database, "snapshot");
  const other = await activeOnAgent(world, fixture.alice, fixture.agent);

  expect(await fixture.snapshot(label)).toMatchObject({ status: 400, body: { errors: [{ field: "label" }] } });
  expect((await fixture.alice.post(`${other.url}/backups`, { label })).status).toBe(200);
});

test("a fourth snapshot is refused until one is deleted; daily backups do not count", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  for (const type of ["snapshot", "snapshot", "snapshot", "auto", "auto"] as const) {
    later(world, 60);
    await hasBackup(world, fixture.database, type);
  }

  expect(await fixture.snapshot("fourth")).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("Delete one first") }] },
  });
  const [first] = (await fixture.alice.get<{ data: { id: number }[] }>(fixture.backups)).body.data;
  await fixture.alice.delete(`${fixture.backups}/${first?.id}`);
  expect((await fixture.snapshot("fourth")).status).toBe(200);
});

test("during a snapshot another is refused, and a repeated request with its key gets the first answer", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const send = (key: string) =>
    world.send({
      method: "POST",
      url: fixture.backups,
      headers: { authorization: `Bearer ${fixture.alice.token}`, "idempotency-key": key },
      payload: { label: "one" },
    });

  expect((await send("a")).statusCode).toBe(200);
  expect((await send("a")).statusCode).toBe(200);
  const refused = await send("b");
  expect([refused.statusCode, refused.json()]).toMatchObject([
    400,
    { errors: [{ reason: expect.stringContaining("backing_up") }] },
  ]);
  expect(await world.openOperations()).toEqual(["backUpDatabase"]);
});
