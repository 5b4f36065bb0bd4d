import type { DatabaseEngine } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";

const ENGINES = "/v4/databases/engines";

/** Beside the 9.7.4 of every world. */
async function offering(world: World, ...versions: string[]): Promise<void> {
  for (const version of versions)
    await world.operator.post("/admin/engines", {
      id: `mysql/${version}`,
      image: "c".repeat(64),
      prepared: "d".repeat(64),
    });
}

const idsListed = async (world: World, filter: object = {}): Promise<string[]> => {
  const reply = await world.send({ method: "GET", url: ENGINES, headers: { "x-filter": JSON.stringify(filter) } });
  return reply.json<{ data: DatabaseEngine[] }>().data.map(({ id }) => id);
};

test("each major version is an engine of its own, listed before its versions and found by its id", async () => {
  await using world = await newWorld();
  await offering(world, "8.4.1", "9.10.0");

  expect(await idsListed(world)).toEqual(["mysql/8", "mysql/8.4.1", "mysql/9", "mysql/9.10.0", "mysql/9.7.4"]);
  expect(await idsListed(world, { version: "9" })).toEqual(["mysql/9"]);
  for (const path of [`${ENGINES}/mysql/9`, `${ENGINES}/mysql%2F9`])
    expect(await world.anonymous.get(path)).toMatchObject({
      status: 200,
      body: { id: "mysql/9", engine: "mysql", version: "9" },
    });
  expect(await world.anonymous.get(`${ENGINES}/mysql/7`)).toMatchObject({ status: 404 });
});

test("a create with a major version gets its newest version, compared by number", async () => {
  await using world = await newWorld();
  await offering(world, "8.4.1", "9.10.0");
  const alice = await world.customer();

  expect((await alice.create({ engine: "mysql/9" })).body).toMatchObject({ engine: "mysql", version: "9.10.0" });
  expect((await alice.create({ engine: "mysql/8" })).body).toMatchObject({ version: "8.4.1" });
  expect((await alice.create({ engine: "mysql/9.7.4" })).body).toMatchObject({ version: "9.7.4" });
  expect((await alice.create({ engine: "mysql/9.7" })).body).toMatchObject({
    errors: [{ field: "engine", reason: expect.stringContaining("mysql/8, mysql/8.4.1, mysql/9, mysql/9.10.0") }],
  });
});

test("every listed engine can be created", async () => {
  await using world = await newWorld();
  await offering(world, "8.4.1", "10");
  const alice = await world.customer();

  for (const engine of await idsListed(world)) expect((await alice.create({ engine })).status).toBe(200);
});
