import { deleteImage, listImages, type Operation, updateImage, viewImage } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { nobodies } from "./cells.ts";
import { everyGrant, everyScopeBut } from "./expected-access.ts";
import { newImage, newPublicImage } from "./machines.ts";
import { sendRequest, BAD_BODY, fillPath, faultOf, type Outcome } from "./outcome.ts";
import { recordOf } from "./record.ts";
import { newFixture, type Fixture, type Target, tokenKinds } from "./fixture.ts";

let world: World;
let fixture: Fixture;
let target: Target;
beforeAll(async () => {
  world = await newWorld();
  fixture = await newFixture(world);
  target = { params: { imageId: await newPublicImage(world) } };
});
afterAll(() => world[Symbol.asyncDispose]());

/** Every user, with a token that has all scopes. */
const everybody = async (): Promise<Fixture["owner"][]> => [
  fixture.owner,
  fixture.colleague,
  fixture.stranger,
  await fixture.restricted(),
  await fixture.restricted({ grants: everyGrant }),
];

/** With both spellings of its path. */
async function faultsOf(operation: Operation, authorization: string | undefined, expected: Outcome) {
  const encoded = fillPath(operation.path, target);
  const faults = [];
  for (const path of [encoded, encoded.replace("%2F", "/")]) {
    const reply = await sendRequest(world, operation, path, authorization, BAD_BODY);
    faults.push(faultOf(operation, reply, expected));
  }
  return faults.filter((fault) => fault !== undefined);
}

test("everybody can view a public image, with or without a token", async () => {
  expect(await faultsOf(viewImage, undefined, "allowed")).toEqual([]);
  for (const person of await everybody())
    for (const kind of tokenKinds)
      expect(await faultsOf(viewImage, `Bearer ${await fixture.token(person, ["*"], kind)}`, "allowed")).toEqual([]);
});

// A program that believes it is signed in must not silently see less than its own images.
test("a token that is sent for public images is checked, and must have the scope", async () => {
  const without = `Bearer ${await fixture.token(fixture.owner, everyScopeBut("images:read_only"))}`;
  for (const { authorization } of nobodies(fixture, target))
    expect(await faultsOf(viewImage, authorization, "no token")).toEqual([]);
  expect(await faultsOf(viewImage, without, "lacks images:read_only")).toEqual([]);
});

test.each([updateImage, deleteImage])(
  "$id of a public image is forbidden to everybody, whatever is sent",
  async (operation) => {
    const bearers = [];
    for (const person of await everybody())
      for (const kind of tokenKinds) bearers.push(`Bearer ${await fixture.token(person, ["*"], kind)}`);
    const reader = `Bearer ${await fixture.token(fixture.owner, ["images:read_only"])}`;
    const before = await recordOf(world);

    expect(await faultsOf(operation, undefined, "no token")).toEqual([]);
    for (const bearer of bearers) expect(await faultsOf(operation, bearer, "forbidden")).toEqual([]);
    expect(await faultsOf(operation, reader, "lacks images:read_write")).toEqual([]);
    expect(await recordOf(world)).toEqual(before);
  },
);

test("without a token the list has only the operator's images, with one also what its reader may view", async () => {
  const mine = `private/${await newImage(world, fixture.owner.accountId)}`;
  const theirs = `private/${await newImage(world, fixture.stranger.accountId)}`;
  const open = target.params["imageId"] as string;
  const listed = async (authorization?: string) => {
    const { text } = await sendRequest(world, listImages, "/v4/images", authorization);
    const { data, results } = JSON.parse(text) as { data: { id: string; is_public: boolean }[]; results: number };
    expect(results).toBe(data.length);
    for (const { id, is_public } of data) expect(is_public).toBe(id.startsWith("operator/"));
    return data.map(({ id }) => id).toSorted();
  };
  const by = async (person: Fixture["owner"]) => listed(`Bearer ${await fixture.token(person)}`);

  expect(await listed()).toEqual([open]);
  expect(await by(fixture.owner)).toEqual([open, mine]);
  expect(await by(fixture.stranger)).toEqual([open, theirs]);
  expect(await by(await fixture.restricted({ grants: everyGrant }))).toEqual([open]);
});

/** What could be mistaken for an id, or reach another object. */
const unusual = [
  "private/0",
  "private/-1",
  "private/1.0",
  "private/1e3",
  "private/0x1",
  "private/+1",
  "private/ 1",
  "private/1 ",
  "private/١",
  "private/１",
  "private/1\u0000",
  "private/9223372036854775808",
  `private/${"9".repeat(3000)}`,
  "private/",
  "/1",
  "private",
  "1",
  "PRIVATE/1",
  "Private/1",
  "operator/",
  "operator",
  "operator/..",
  "operator/.",
  "operator/%2e%2e",
  "operator/../upload",
  "private/1/x",
  "operator/a/b",
  "private//1",
  "operator/\u202ea",
  "a/b/c/d",
  "operator/'--",
  "operator/%",
  "private/1;private/2",
  "private/1?",
  "null/null",
  "undefined/undefined",
];
test("an impossible id is not found, for every caller", async () => {
  const owner = `Bearer ${fixture.ownersToken}`;
  const id = await newImage(world, fixture.owner.accountId);
  const spellings = [`private/0${id}`, `private/${id}.0`, `private/ ${id}`, `private/${id}/`, `PRIVATE/${id}`];
  const before = await recordOf(world);

  for (const imageId of [...unusual, ...spellings])
    for (const [operation, body] of [
      [viewImage, ""],
      [updateImage, '{"label":"x"}'],
      [deleteImage, ""],
    ] as const) {
      const path = `/v4/images/${encodeURIComponent(imageId)}`;
      const reply = await sendRequest(world, operation, path, owner, body);
      expect([reply.status, reply.headers["content-type"]], `${operation.method} ${imageId}`).toEqual([
        404,
        "application/json",
      ]);
    }
  expect(await recordOf(world)).toEqual(before);
});

test("without a token an existing private image cannot be distinguished from a missing one", async () => {
  const id = await newImage(world, fixture.owner.accountId);
  const there = await sendRequest(world, viewImage, `/v4/images/private%2F${id}`, undefined);
  const none = await sendRequest(world, viewImage, `/v4/images/private%2F${id + 1_000_003}`, undefined);

  expect(there).toEqual(none);
  expect(there.status).toBe(401);
});
