import type { MysqlDatabase } from "@moorage/contract";
import { expect, test } from "vitest";
import { aMinuteLater, databaseFixture, updatesOf, desiredSpec } from "#testing/active-database.ts";
import { ENGINE, newWorld, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

const NEWER = "c".repeat(64);
const setEngineImage = (world: World, image: string) =>
  world.operator.post(`/admin/engines/${ENGINE}/image`, { image });
const passwordOf = async (alice: { get: World["anonymous"]["get"] }, url: string) =>
  (await alice.get<{ password: string }>(`${url}/credentials`)).body.password;

test("suspend: suspended once the host reports it stopped; DNS records, port and room stay", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const { port, hosts } = (await alice.get<MysqlDatabase>(database.url)).body;
  const room = (await world.hostRow(host.id)).reserved_disk_mb;

  expect(await alice.post(`${database.url}/suspend`)).toMatchObject({ status: 200, body: {} });
  const { id } = await world.lastOperation();
  expect((await alice.get(database.url)).body).toMatchObject({ status: "suspending" });
  expect(await updatesOf(world)).toMatchObject([{ status: "started", username: alice.username, operation_id: id }]);
  await world.activities.applyChange(id);
  expect(await desiredSpec(world)).toMatchObject({ generation: 2, power: "off" });
  await host.report(await desiredSpec(world), "running");
  expect(await world.checkPhase(id, "change")).toEqual({ state: "pending" });
  await host.report(await desiredSpec(world), "stopped");
  expect(await world.checkPhase(id, "change")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });

  const after = (await alice.get(database.url)).body;
  expect(after).toMatchObject({ status: "suspended", port, hosts });
  expect((await world.hostRow(host.id)).reserved_disk_mb).toBe(room);
  expect(await updatesOf(world)).toMatchObject([{ status: "finished" }]);
  expect((await world.audit()).map(({ action }) => action).slice(-2)).toEqual([
    "suspend_database",
    "suspendDatabase.done",
  ]);
});

test("resume: active when the host reports it running; given up, suspended with power off", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await alice.post(`${database.url}/suspend`);
  await world.activities.endChange((await world.lastOperation()).id, { done: true });

  await alice.post(`${database.url}/resume`);
  const first = await world.lastOperation();
  expect((await alice.get(database.url)).body).toMatchObject({ status: "resuming" });
  await world.activities.applyChange(first.id);
  expect(await desiredSpec(world)).not.toHaveProperty("power");
  await world.activities.endChange(first.id, {
    done: false,
    message: texts.hostReported({ message: "container: exit 1" }),
  });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "suspended" });
  expect(await desiredSpec(world)).toMatchObject({ power: "off" });
  expect((await updatesOf(world)).at(-1)).toMatchObject({
    status: "failed",
    message: texts.resumeFailed({ why: "container: exit 1" }).text,
  });

  await alice.post(`${database.url}/resume`);
  const second = await world.lastOperation();
  await world.activities.applyChange(second.id);
  await host.report(await desiredSpec(world), "running");
  expect(await world.checkPhase(second.id, "change")).toEqual({ state: "observed" });
  await world.activities.endChange(second.id, { done: true });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
});

test("a suspension that no host confirmed by the deadline ends active, with power on desired", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await alice.post(`${database.url}/suspend`);
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);

  await world.expire(id);

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(await desiredSpec(world)).not.toHaveProperty("power");
  expect((await updatesOf(world)).at(-1)).toMatchObject({
    message: texts.suspendFailed({ why: texts.hostLate().text }).text,
  });
});

test("reset: the new password is shown at once, and the event is finished when the host has applied it", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const old = await passwordOf(alice, database.url);

  expect(await alice.post(`${database.url}/credentials/reset`)).toMatchObject({ status: 200, body: {} });
  const { id, input } = await world.lastOperation();
  const fresh = await passwordOf(alice, database.url);
  expect(fresh).not.toBe(old);
  expect(fresh.length).toBeGreaterThanOrEqual(16);
  expect(JSON.stringify([input, await world.audit(), await world.events()])).not.toContain(fresh);
  expect((await alice.get(database.url)).body).toMatchObject({ status: "updating" });
  await world.activities.applyChange(id);
  expect(await desiredSpec(world)).toMatchObject({ credentials: { version: 2 } });
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(id, { done: true });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_credentials_reset", status: "finished" });
  expect(await passwordOf(alice, database.url)).toBe(fresh);
});

test.each([["requested"], ["not requested"]])(
  "a reset that is given up (%s) keeps the new password desired, with a message that it will come into force",
  async (state) => {
    await using world = await newWorld();
    const { alice, database } = await databaseFixture(world);
    await alice.post(`${database.url}/credentials/reset`);
    const { id } = await world.lastOperation();
    const fresh = await passwordOf(alice, database.url);
    if (state === "requested") await world.activities.applyChange(id);

    await world.expire(id);

    expect(await passwordOf(alice, database.url)).toBe(fresh);
    expect(await desiredSpec(world)).toMatchObject({ generation: 2, credentials: { version: 2 } });
    expect((await world.events()).at(-1)).toMatchObject({
      action: "database_credentials_reset",
      status: "failed",
      message_code: texts.passwordNotSet({ why: "" }).code,
    });
    expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  },
);

test("patch now: the engine's newer image is desired, the version stays, and nothing is pending", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  expect(await setEngineImage(world, NEWER)).toMatchObject({ status: 200, body: { image: NEWER, databases: 1 } });
  const shown = await alice.get<{ updates: { pending: object[] }; version: string }>(database.url);
  expect(shown.body.updates.pending).toEqual([
    { description: expect.any(String), deadline: null, planned_for: expect.stringMatching(/T20:00:00$/) },
  ]);

  expect(await alice.post(`${database.url}/patch`)).toMatchObject({ status: 200, body: {} });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  expect(await desiredSpec(world)).toMatchObject({
    engine: { image: NEWER, version: "9.7.4", prepared: "b".repeat(64) },
  });
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(id, { done: true });

  expect((await alice.get(database.url)).body).toMatchObject({
    status: "active",
    version: shown.body.version,
    updates: { pending: [] },
  });
  expect(await world.databaseRow(database.id)).toMatchObject({ image: NEWER, patch_due_at: null });
});

test("after a failed patch the previous image is desired again, and the window retries", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await setEngineImage(world, NEWER);
  const { patch_due_at } = await world.databaseRow(database.id);
  await alice.post(`${database.url}/patch`);
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await host.report(await desiredSpec(world), "failed", { message: "image: not on this host" });
  await world.activities.endChange(id, {
    done: false,
    message: texts.hostReported({ message: "image: not on this host" }),
  });

  expect(await desiredSpec(world)).toMatchObject({ generation: 3, engine: { image: "a".repeat(64) } });
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "active", image: "a".repeat(64), patch_due_at });
  expect((await updatesOf(world)).at(-1)).toMatchObject({
    status: "failed",
    message: expect.stringContaining("not on this host"),
  });
});

test("with nothing pending a patch is accepted and finished at once, and no host is contacted", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);

  expect(await alice.post(`${database.url}/patch`)).toMatchObject({ status: 200, body: {} });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(await updatesOf(world)).toMatchObject([{ status: "finished", operation_id: null }]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "patch_database" });
  expect(await desiredSpec(world)).toMatchObject({ generation: 1 });
});

test("a change that could not start before its deadline does not start after it", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await alice.post(`${database.url}/suspend`);
  const { id } = await world.lastOperation();
  for (let minute = 0; minute < 15; minute++) aMinuteLater(world);

  expect(await world.activities.applyChange(id)).toBe("too late");
  expect(await desiredSpec(world)).toMatchObject({ generation: 1 });
});

test("a change does not recreate a database that its host has lost", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await world.db.updateTable("nodes").set({ desired_spec: null }).execute();
  await alice.post(`${database.url}/credentials/reset`);
  const { id } = await world.lastOperation();

  expect(await world.activities.applyChange(id)).toBe("not there");
  await world.activities.endChange(id, { done: false, message: texts.hostLate() });

  expect(await world.nodes()).toMatchObject([{ desired_spec: null }]);
});

test.each(["suspend", "patch", "credentials/reset"])("%s with an Idempotency-Key is done once", async (action) => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await setEngineImage(world, NEWER);
  const ask = () =>
    world.send({
      method: "POST",
      url: `${database.url}/${action}`,
      headers: { authorization: `Bearer ${alice.token}`, "idempotency-key": "k" },
    });

  const replies = [await ask(), await ask()];

  expect(replies.map(({ statusCode, payload }) => [statusCode, payload])).toEqual([
    [200, "{}"],
    [200, "{}"],
  ]);
  expect(await world.openOperations()).toHaveLength(1);
});

test("no change is accepted while a restored control plane is compared with its hosts", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await world.db.updateTable("installation").set({ set_back_at: world.time.now }).execute();

  for (const action of ["suspend", "patch", "credentials/reset"])
    expect(await alice.post(`${database.url}/${action}`)).toMatchObject({ status: 503 });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
});
