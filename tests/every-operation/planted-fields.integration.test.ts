import { type Operation, operations } from "@moorage/contract";
import { Secret, TOTP } from "otpauth";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { newClient } from "./apps.ts";
import { bodies } from "./bodies.ts";
import { namesIn } from "./cells.ts";
import { type Change, changesBetween, rowsOf } from "./changes.ts";
import { addCard, ZIP } from "./limits.ts";
import { fillPath } from "./outcome.ts";
import { newFixture, type Fixture } from "./fixture.ts";

const SECRET = "5ec7e7".repeat(10).padEnd(64, "0");
const ID = 424_242_424_242;

let world: World;
let fixture: Fixture;
/** Fields that nobody may set, with values of another account or with more rights. */
let planted: Readonly<Record<string, unknown>>;
beforeAll(async () => {
  world = await newWorld();
  await world.host({ memory_mb: 1_024_000, disk_mb: 10_240_000 });
  fixture = await newFixture(world);
  // The first invitation of an account and day adds a count, the others change it.
  const first = { username: "first", email: "first@test.example", restricted: true };
  await world.as(fixture.ownersToken).post("/v4/account/users", first);
  const owner = { ...fixture.owner, ...world.as(fixture.ownersToken), token: fixture.ownersToken };
  await owner.put("/v4/account", ZIP);
  // The first card of an account changes more than the next.
  await addCard(owner);
  const { accountId, userId } = fixture.stranger;
  planted = {
    id: ID,
    account_id: accountId,
    user_id: userId,
    client_id: await newClient(world, accountId),
    status: "suspended",
    balance: 31_337.77,
    secret: SECRET,
    scopes: "*",
    restricted: false,
  };
});
afterAll(() => world[Symbol.asyncDispose]());

/** Adds the fields to every object of the body, without replacing fields that the operation accepts. */
function withPlanted(value: unknown, taken: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((each) => withPlanted(each, taken));
  if (typeof value !== "object" || value === null) return value;
  const extra = Object.fromEntries(Object.entries(planted).filter(([name]) => !taken.includes(name)));
  return { ...extra, ...Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withPlanted(v, taken)])) };
}

const writable = operations.filter(({ body }) => body !== undefined);

test("every operation with a body is listed", () => {
  expect(Object.keys(bodies).toSorted()).toEqual(writable.map(({ id }) => id).toSorted());
});

test.each(writable.map((operation) => [operation.id, operation] as const))(
  "%s: planted fields in the body have no effect",
  async (id, operation) => {
    const { body, taken = [], afresh } = bodies[id] as NonNullable<(typeof bodies)[string]>;
    const send = async (plant: boolean) => {
      const target = await fixture.target(namesIn(operation.path), fixture.owner);
      const by = afresh === true ? await world.customer() : { ...fixture.owner, token: fixture.ownersToken };
      const sent = id === "confirmTfa" ? { tfa_code: await codeOf() } : await body(target, world, by.accountId);
      const before = await rowsOf(world);
      const url = fillPath(operation.path, target);
      const status = await put(operation, url, plant ? withPlanted(sent, taken) : sent, by.token);
      const changes = changesBetween(before, await rowsOf(world));
      if (id === "confirmTfa") await world.as(fixture.ownersToken).post("/v4/profile/tfa-disable");
      return { status, changes };
    };

    const plain = await send(false);
    const hostile = await send(true);

    expect([plain.status, hostile.status]).toEqual([200, 200]);
    // The same columns of the same tables change, and values that decide rights change to the same.
    expect(hostile.changes.map(({ shape }) => shape)).toEqual(plain.changes.map(({ shape }) => shape));
    expect(hostile.changes.map(({ rights }) => rights)).toEqual(plain.changes.map(({ rights }) => rights));
    const written = JSON.stringify(hostile.changes.map(({ row }) => ofOurs(row)));
    for (const name of ["id", "balance", "client_id"]) expect(written).not.toContain(String(planted[name]));
    expect(written).not.toContain(SECRET);
    expect(written).not.toContain(sha256(SECRET).toString("hex"));
    const { accountId, userId } = fixture.stranger;
    const strangers = ({ row }: Change): boolean => row["account_id"] === accountId || row["user_id"] === userId;
    expect(hostile.changes.filter(strangers)).toEqual([]);
  },
);

/** Preferences accept any content. */
const ofOurs = ({ preferences: _, ...row }: Record<string, unknown>): object => row;

async function put({ method }: Operation, url: string, body: unknown, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const reply = await world.send({ method, url, headers, payload: JSON.stringify(body) });
  return reply.statusCode;
}

/** A code for the seed that was just offered. */
async function codeOf(): Promise<string> {
  const offer = await world.as(fixture.ownersToken).post<{ secret: string }>("/v4/profile/tfa-enable");
  const totp = new TOTP({ secret: Secret.fromBase32(offer.body.secret) });
  return totp.generate({ timestamp: world.time.now.getTime() });
}
