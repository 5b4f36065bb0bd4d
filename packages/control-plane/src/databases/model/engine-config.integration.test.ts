import { expect, test } from "vitest";
import { databaseFixture } from "#testing/active-database.ts";
import { newWorld } from "#testing/world.ts";
import { texts } from "./texts.ts";

const INSTANCES = "/v4/databases/mysql/instances";

test("every MySQL database shows its settings, of which there are none", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { body } = await alice.create();

  expect(body.engine_config).toEqual({ mysql: {} });
  expect((await alice.get(`${INSTANCES}/${body.id}`)).body).toMatchObject({ engine_config: { mysql: {} } });
  expect((await alice.get(INSTANCES)).body).toMatchObject({ data: [{ engine_config: { mysql: {} } }] });
});

test.each([[undefined], [null], [{}], [{ mysql: {} }], [{ mysql: null }], [{ mysql: { sql_mode: null } }]])(
  "settings without a value, %j, request nothing",
  async (engine_config) => {
    await using world = await newWorld();
    const { alice, database } = await databaseFixture(world);

    expect((await alice.create({ engine_config })).status).toBe(200);
    expect((await alice.put(database.url, { engine_config })).status).toBe(200);
  },
);

test("a setting with a value is refused by its dotted name, never dropped", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);
  const engine_config = {
    binlog_retention_period: 3600,
    mysql: { sql_mode: "", wait_timeout: null, sql_require_primary_key: false },
  };

  const refused = {
    status: 400,
    body: {
      errors: ["binlog_retention_period", "mysql.sql_mode", "mysql.sql_require_primary_key"].map((name) => ({
        field: `engine_config.${name}`,
        reason: texts.engineSettingFixed({ field: `engine_config.${name}` }).text,
      })),
    },
  };
  expect(await alice.create({ engine_config })).toMatchObject(refused);
  expect(await alice.put(database.url, { engine_config })).toMatchObject(refused);
  expect(await alice.put(database.url, { engine_config: "fast" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "engine_config" }] },
  });
});
