import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HOME, OFFICE } from "#testing/active-database.ts";
import { databaseOnAgent, shortenDeadline, until, untilSettled } from "#testing/database-on-agent.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World } from "#testing/world.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const lastEvent = async (world: World) => (await world.events()).at(-1);

test("a changed list reaches its host, and the database is active again", async () => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await database.work();

  const { body } = await database.alice.put(database.url, { allow_list: OFFICE });
  expect(body).toMatchObject({ status: "updating" });
  await untilSettled(world);

  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: OFFICE });
  expect(await lastEvent(world)).toMatchObject({
    action: "database_update",
    status: "finished",
    message: expect.stringMatching(/^Applied on every node at /),
  });
  expect(database.specOnHost()).toMatchObject({
    generation: 2,
    firewall: { sources: ["198.51.100.0/24", "2001:db8::/32"] },
  });
});

test("a list that the host refuses is withdrawn there too, by a later generation", async () => {
  const refuse = ({ database }: NodeSpec): Partial<NodeReport> =>
    database.allow_list.length > 1 ? { state: "failed", message: "firewall: nft is broken" } : {};
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal, refuse);
  await database.work();

  await database.alice.put(database.url, { allow_list: OFFICE });
  await untilSettled(world);

  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: HOME });
  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: expect.stringContaining("nft is broken") });
  await until(async () => database.specOnHost().generation === 3);
  expect(database.specOnHost()).toMatchObject({ firewall: { sources: ["203.0.113.7/32"] } });
});

test("with a host silent until the deadline the old list is shown, and desired when the host is back", async () => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await database.silence();
  await database.alice.put(database.url, { allow_list: OFFICE });
  await shortenDeadline(world, 1000);
  await database.work();

  await untilSettled(world);

  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active", allow_list: HOME });
  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: expect.stringContaining("in time") });
  expect((await world.nodes())[0]?.desired_spec).toMatchObject({ generation: 3, database: { allow_list: HOME } });
});

test("ten updates in a row, each through Temporal and the host: the last one is in force", async () => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await database.work();
  const took: number[] = [];

  for (let n = 1; n <= 10; n++) {
    const started = performance.now();
    const reply = await database.alice.put(database.url, { allow_list: [`203.0.113.${n}`] });
    expect(reply).toMatchObject({ status: 200, body: { status: "updating" } });
    await untilSettled(world);
    took.push(performance.now() - started);
  }

  took.sort((a, b) => a - b);
  console.log(`update through Temporal: median ${took[5]?.toFixed(0)} ms, slowest ${took[9]?.toFixed(0)} ms`);
  expect(database.specOnHost()).toMatchObject({ generation: 11, firewall: { sources: ["203.0.113.10/32"] } });
  expect((await database.alice.get(database.url)).body).toMatchObject({
    status: "active",
    allow_list: ["203.0.113.10"],
  });
  expect(new Set((await world.events()).map(({ status }) => status))).toEqual(new Set(["finished"]));
});
