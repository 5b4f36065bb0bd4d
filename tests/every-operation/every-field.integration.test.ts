import { type Operation, operations } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { bodies } from "./bodies.ts";
import { namesIn } from "./cells.ts";
import { expectedReplies } from "./expected-fields.ts";
import { listed } from "./lists.ts";
import { newMaintenance } from "./money.ts";
import { fieldFaultsOf, fillPath } from "./outcome.ts";
import { newFixture, type Fixture, type Target } from "./fixture.ts";
import { PNG } from "./things.ts";

let world: World;
let fixture: Fixture;
beforeAll(async () => {
  world = await newWorld();
  await world.host({ memory_mb: 1_024_000, disk_mb: 10_240_000 });
  fixture = await newFixture(world);
  const { accountId } = fixture.owner;
  for (const change of [{}, { expires: "2049-01-31T00:00:00" }])
    await world.operator.post(`/admin/accounts/${accountId}/credits`, {
      summary: `Welcome ${Object.keys(change).length}`,
      credit: "100",
      ...change,
    });
  // An item for every list.
  for (const { param } of Object.values(listed)) await fixture.target([param], fixture.owner);
  const { entity } = await fixture.target(["computeId"], fixture.owner);
  await newMaintenance(world, accountId, entity?.id ?? 0);
  // In a separate region: a region with an outage accepts no new database.
  await world.operator.post("/admin/regions", { id: "us-east", label: "Newark", country: "us" });
  await world.db
    .updateTable("computes")
    .set({ region: "us-east" })
    .where("id", "=", entity?.id ?? 0)
    .execute();
  await world.operator.post("/admin/regions/us-east/outage", { message: "Power is out." });
});
afterAll(() => world[Symbol.asyncDispose]());

const operationOf = (name: string): Operation => {
  const [method, path] = name.split(" ");
  const found = operations.find(
    (each) => each.method === method && [each.path, each.former?.path].includes(path as never),
  );
  if (found === undefined) throw new Error(`There is no ${name}`);
  return found;
};

/** Sends a valid request as a permitted user, for an existing object. */
async function answerOf(name: string): Promise<{ status: number; text: string }> {
  const operation = operationOf(name);
  const path = name.split(" ")[1] ?? "";
  const by =
    operation.id === "cancelAccount" ? await world.customer() : { ...fixture.owner, token: fixture.ownersToken };
  const target = await fixture.target(namesIn(path), fixture.owner, {
    ...(path.endsWith("/accept") && { offered: true }),
  });
  const { type, payload } = await bodyOf(operation, target, by.accountId);
  const reply = await world.send({
    method: operation.method,
    url: fillPath(path, target),
    headers: { authorization: `Bearer ${by.token}`, ...(type !== undefined && { "content-type": type }) },
    ...(payload !== undefined && { payload }),
  });
  return { status: reply.statusCode, text: reply.payload };
}

async function bodyOf(
  { id, upload }: Operation,
  target: Target,
  accountId: number,
): Promise<{ type?: string; payload?: Buffer | string }> {
  if (upload !== undefined) return { type: "image/png", payload: PNG };
  const body = await bodies[id]?.body(target, world, accountId);
  return body === undefined ? {} : { type: "application/json", payload: JSON.stringify(body) };
}

const every = Object.keys(expectedReplies);
let compared = 0;
afterAll(() => console.log(`every-field: ${compared} of ${every.length} replies have the fields of the interface`));

test.each(every)("%s replies with the fields of the interface", async (name) => {
  const reply = await answerOf(name);

  expect(reply).toMatchObject({ status: 200 });
  const { data } = JSON.parse(reply.text) as { data?: unknown[] };
  // An empty list would prove nothing.
  expect(data).not.toEqual([]);
  expect(fieldFaultsOf(operationOf(name), JSON.parse(reply.text))).toEqual([]);
  compared++;
});

const drifts: [drift: string, plant: (database: Record<string, unknown>) => object, found: string[]][] = [
  [
    "a renamed field",
    ({ port, ...others }) => ({ ...others, access_port: port }),
    ["MysqlDatabase.access_port is not in the interface", "MysqlDatabase.port is missing"],
  ],
  ["a null where there is none", (database) => ({ ...database, label: null }), ["MysqlDatabase.label may be null"]],
  [
    "another value of a closed set",
    (database) => ({ ...database, status: "paused" }),
    ['MysqlDatabase.status has the value "paused"'],
  ],
  [
    "a number that is text",
    (database) => ({ ...database, total_disk_size_gb: "10" }),
    ['MysqlDatabase.total_disk_size_gb has the value "10"'],
  ],
  [
    "a time with a zone",
    (database) => ({ ...database, created: "2026-01-31T23:59:59Z" }),
    ['MysqlDatabase.created has the value "2026-01-31T23:59:59Z"'],
  ],
];
test.each(drifts)("%s in a reply is found", async (_drift, plant, found) => {
  const name = "GET /v4/databases/mysql/instances/:instanceId";
  const { text } = await answerOf(name);
  const drifted = plant(JSON.parse(text) as Record<string, unknown>);
  expect(fieldFaultsOf(operationOf(name), drifted)).toEqual(found);
});
