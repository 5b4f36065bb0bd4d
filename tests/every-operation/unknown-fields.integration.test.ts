import { type Operation, operations } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { bodies } from "./bodies.ts";
import { namesIn } from "./cells.ts";
import { fillPath } from "./outcome.ts";
import { recordOf } from "./record.ts";
import { newFixture, type Fixture } from "./fixture.ts";

let world: World;
let fixture: Fixture;
beforeAll(async () => {
  world = await newWorld();
  await world.host({ memory_mb: 1_024_000, disk_mb: 10_240_000 });
  fixture = await newFixture(world);
});
afterAll(() => world[Symbol.asyncDispose]());

type Body = Record<string, unknown>;

/** A valid request, by the owner or by an account that it may end. */
async function prepare(operation: Operation): Promise<{ body: Body; send: (body: Body) => ReturnType<World["send"]> }> {
  const { body, afresh } = bodies[operation.id] as NonNullable<(typeof bodies)[string]>;
  const target = await fixture.target(namesIn(operation.path), fixture.owner);
  const by = afresh === true ? await world.customer() : { ...fixture.owner, token: fixture.ownersToken };
  return {
    body: (await body(target, world, by.accountId)) as Body,
    send: (sent) =>
      world.send({
        method: operation.method,
        url: fillPath(operation.path, target),
        headers: { authorization: `Bearer ${by.token}`, "content-type": "application/json" },
        payload: JSON.stringify(sent),
      }),
  };
}

// Preferences are free JSON: every name is known.
const withBody = operations.filter(({ body, id }) => body !== undefined && id !== "updatePreferences");
const cases = withBody.map((operation) => [operation.id, operation] as const);

test.each(cases)("%s refuses a misspelled field, and changes nothing", async (_id, operation) => {
  const { body, send } = await prepare(operation);
  const longest = Object.keys(operation.body?.shape ?? {}).toSorted((a, b) => b.length - a.length)[0] as string;
  const { [longest]: value = null, ...others } = body;
  const slip = `${longest}x`;
  const before = await recordOf(world);

  const reply = await send({ ...others, [slip]: value });

  expect(reply.statusCode).toBe(400);
  expect(reply.json<{ errors: object[] }>().errors).toContainEqual({
    field: slip,
    reason: `There is no field \`${slip}\`. Did you mean \`${longest}\`?`,
  });
  expect(await recordOf(world)).toEqual(before);
});

// Its body is a code that is valid once.
const accepted = cases.filter(([id]) => id !== "confirmTfa");
test.each(accepted)("%s ignores unknown fields, and names them", async (_id, operation) => {
  const { body, send } = await prepare(operation);

  const reply = await send({ ...body, unheard_of: 1, "a\nb": 1 });

  expect([reply.statusCode, reply.headers["x-ignored-fields"]]).toEqual([200, "unheard_of, ?"]);
});

const lacking = cases.flatMap(([id, operation]) =>
  (operation.notOffered ?? []).map((setting) => [setting, id, operation] as const),
);
test.each(lacking)("%s with a value is refused by %s, and accepted without one", async (setting, _id, operation) => {
  const { body, send } = await prepare(operation);

  const reply = await send({ ...body, [setting]: ["something"] });

  expect([reply.statusCode, reply.json()]).toEqual([
    400,
    { errors: [{ field: setting, reason: `${setting} is not offered. Omit it.` }] },
  ]);
  expect((await send({ ...body, [setting]: null })).statusCode).toBe(200);
});

test("a caller without permission gets 403, whatever the body", async () => {
  const restricted = await fixture.token(await fixture.restricted());
  const reply = await world.send({
    method: "POST",
    url: "/v4/account/payments",
    headers: { authorization: `Bearer ${restricted}`, "content-type": "application/json" },
    payload: JSON.stringify({ usd: "7.50", payment_method_idx: 1 }),
  });
  expect(reply.statusCode).toBe(403);
});
