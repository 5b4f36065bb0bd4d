import { expect, test } from "vitest";
import {
  aMinuteLater,
  HOME,
  INSTANCES,
  OFFICE,
  databaseFixture,
  updatesOf,
  desiredSpec,
} from "#testing/active-database.ts";
import { ENGINE, newWorld, PLAN, REGION } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

test("when the host has the list, the database is active, and the event has the time", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await alice.put(database.url, { allow_list: OFFICE });
  const { id } = await world.lastOperation();

  expect(await world.activities.applyChange(id)).toBe("requested");
  expect(await desiredSpec(world)).toMatchObject({
    generation: 2,
    database: { allow_list: OFFICE },
    firewall: { sources: ["198.51.100.0/24", "2001:db8::/32"] },
  });
  expect(await world.checkPhase(id, "change")).toEqual({ state: "pending" });
  await host.report(await desiredSpec(world), "running");
  expect(await world.checkPhase(id, "change")).toEqual({ state: "observed" });
  await world.activities.endChange(id, { done: true });

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: OFFICE });
  const at = world.time.now.toISOString().slice(0, 19);
  expect(await updatesOf(world)).toMatchObject([
    { status: "finished", message: texts.allowListAppliedAt({ at }).text },
  ]);
  expect(await desiredSpec(world)).toMatchObject({ generation: 2 });
});

test("requesting and settling twice takes effect once", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await alice.put(database.url, { allow_list: OFFICE });
  const { id } = await world.lastOperation();

  await Promise.all([world.activities.applyChange(id), world.activities.applyChange(id)]);
  expect(await desiredSpec(world)).toMatchObject({ generation: 2 });
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(id, { done: true });
  const after = { events: await world.events(), audit: await world.audit() };
  aMinuteLater(world);
  await world.activities.endChange(id, { done: false, message: texts.hostLate() });

  expect({ events: await world.events(), audit: await world.audit() }).toEqual(after);
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: OFFICE });
  expect(await desiredSpec(world)).toMatchObject({ generation: 2, database: { allow_list: OFFICE } });
});

test("after a list that its host could not apply the old one is desired, and the event has the reason", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await alice.put(database.url, { allow_list: OFFICE, label: "renamed" });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await host.report(await desiredSpec(world), "failed", { message: "firewall: nft is broken" });
  expect(await world.checkPhase(id, "change")).toEqual({ state: "failed", message: "nft is broken" });

  await world.activities.endChange(id, { done: false, message: texts.hostReported({ message: "nft is broken" }) });

  // Label and window do not concern the host, and stay changed.
  const shown = (await alice.get(database.url)).body;
  expect(shown).toMatchObject({ status: "active", allow_list: HOME, label: "renamed" });
  expect(await updatesOf(world)).toMatchObject([
    { status: "failed", message: expect.stringContaining("nft is broken") },
  ]);
  expect(await desiredSpec(world)).toMatchObject({
    generation: 3,
    database: { allow_list: HOME },
    firewall: { sources: ["203.0.113.7/32"] },
  });
  expect(await alice.put(database.url, { allow_list: OFFICE })).toMatchObject({ status: 200 });
});

test("past its deadline an update is given up with the host's last message, and cannot come back", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  await alice.put(database.url, { allow_list: OFFICE });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await host.report(await desiredSpec(world), "working", { message: "firewall: retrying" });

  await world.expire(id);

  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: HOME });
  expect(await updatesOf(world)).toMatchObject([
    { status: "failed", message: texts.allowListFailed({ why: "retrying" }).text },
  ]);
  expect(await desiredSpec(world)).toMatchObject({ generation: 3, firewall: { sources: ["203.0.113.7/32"] } });
  expect(await world.activities.applyChange(id)).toBe("not there");
  expect(await desiredSpec(world)).toMatchObject({ generation: 3 });
});

test("an update given up before it was sent leaves its host with the old list", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await alice.put(database.url, { allow_list: OFFICE });
  const { id } = await world.lastOperation();

  await world.expire(id);
  expect(await world.activities.applyChange(id)).toBe("not there");

  expect(await desiredSpec(world)).toMatchObject({ database: { allow_list: HOME } });
  expect(await updatesOf(world)).toMatchObject([{ status: "failed", message: expect.stringContaining("in time") }]);
});

test("an update does not recreate a database that its host has lost", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  await world.db.updateTable("nodes").set({ desired_spec: null }).execute();
  await alice.put(database.url, { allow_list: OFFICE });
  const { id } = await world.lastOperation();

  expect(await world.activities.applyChange(id)).toBe("not there");
  await world.activities.endChange(id, { done: false, message: texts.hostLate() });

  expect(await world.nodes()).toMatchObject([{ desired_spec: null }]);
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: HOME });
});

test("fifty updates in a row end with the last one", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);

  for (let n = 1; n <= 50; n++) {
    expect(await alice.put(database.url, { allow_list: [`203.0.113.${n}`, `198.51.100.${n}`] })).toMatchObject({
      status: 200,
    });
    const { id } = await world.lastOperation();
    await world.activities.applyChange(id);
    await host.report(await desiredSpec(world), "running");
    await world.activities.endChange(id, { done: true });
  }

  expect(await desiredSpec(world)).toMatchObject({
    generation: 51,
    firewall: { sources: ["198.51.100.50/32", "203.0.113.50/32"] },
  });
  expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect((await updatesOf(world)).map(({ status }) => status)).toEqual(Array(50).fill("finished"));
});

test("a Terraform provider's create, update and refresh succeed in its own order of calls", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const eventsOf = async (id: number, action: string) => {
    const filter = { action, "entity.id": id, "entity.type": "database", "+order_by": "created", "+order": "desc" };
    const reply = await world.send({
      url: "/v4/account/events?page=1",
      headers: { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify(filter) },
    });
    return reply.json<{ data: { id: number; status: string; percent_complete: number }[] }>().data;
  };

  expect((await alice.get("/v4/linode/types?page=100")).status).toBe(200);
  const { id } = (
    await alice.create({ region: REGION, type: PLAN, engine: ENGINE, engine_config: {}, allow_list: HOME })
  ).body;
  const url = `${INSTANCES}/${id}`;
  const create = await world.lastOperation();
  expect(await eventsOf(id, "database_create")).toMatchObject([{ status: "started" }]);
  await world.activities.setDesiredNodes(create.id);
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(create.id, { done: true });
  expect(await eventsOf(id, "database_create")).toMatchObject([{ status: "finished", percent_complete: 100 }]);
  expect((await alice.get(url)).body).toMatchObject({ status: "active" });

  const window = { frequency: "weekly", duration: 1, hour_of_day: 22, day_of_week: 6 };
  expect(await alice.put(url, { updates: window })).toMatchObject({ status: 200 });
  const first = await eventsOf(id, "database_update");
  expect(first).toMatchObject([{ status: "finished", percent_complete: 100 }]);
  for (const path of [url, `${url}/credentials`]) expect((await alice.get(path)).status).toBe(200);

  aMinuteLater(world);
  expect(await alice.put(url, { label: "renamed", allow_list: OFFICE, updates: window })).toMatchObject({
    status: 200,
  });
  const [second] = await eventsOf(id, "database_update");
  expect(second?.id).not.toBe(first[0]?.id);
  expect(second).toMatchObject({ status: "started" });
  const update = await world.lastOperation();
  await world.activities.applyChange(update.id);
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(update.id, { done: true });
  expect(await eventsOf(id, "database_update")).toMatchObject([
    { id: second?.id, status: "finished" },
    { id: first[0]?.id },
  ]);
  expect((await alice.get(url)).body).toMatchObject({ status: "active", label: "renamed", allow_list: OFFICE });
});
