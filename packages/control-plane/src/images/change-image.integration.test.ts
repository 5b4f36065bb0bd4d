import { type Event, type Image, updateImage } from "@moorage/contract";
import { describe, expect, test } from "vitest";
import {
  availableImage,
  grant,
  imageRow,
  IMAGES,
  numberOf,
  type Person,
  publicImage,
  upload,
} from "#testing/image-fixture.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./model/texts.ts";

const NOT_FOUND = { status: 404, body: { errors: [{ reason: expect.stringMatching(/^Not found: there is no /) }] } };
const pathOf = ({ id }: { id: string }): string => `${IMAGES}/${id}`;

const ways = {
  PUT: (person: Person, image: { id: string }) => person.put(pathOf(image), { label: "Renamed" }),
  DELETE: (person: Person, image: { id: string }) => person.delete(pathOf(image)),
};
const eventsOf = async (world: World, action: string) =>
  (await world.events()).filter((event) => event.action === action);

describe.each(Object.entries(ways))("%s", (_method, change) => {
  test("another account's image is not found, and nothing is recorded", async () => {
    await using world = await newWorld();
    const [alice, bob] = [await world.customer(), await world.customer()];
    const image = await availableImage(world, alice);
    const [before, audit] = [await imageRow(world, image), await world.audit()];

    const [foreign, missing] = [await change(bob, image), await change(bob, { id: "private/999999999" })];

    expect(foreign).toMatchObject(NOT_FOUND);
    const withoutId = ({ body }: { body: unknown }) => JSON.stringify(body).replace(/private\/\d+/, "N");
    expect(withoutId(foreign)).toEqual(withoutId(missing));
    expect(await imageRow(world, image)).toEqual(before);
    expect(await world.audit()).toEqual(audit);
  });

  test("a public image is 403 and stays, and a missing one is 404", async () => {
    await using world = await newWorld();
    await publicImage(world, "debian-12");
    const bob = await world.customer();
    const rob = await world.colleague(bob.accountId, { restricted: true });

    for (const person of [bob, rob]) {
      expect(await change(person, { id: "operator/debian-12" })).toMatchObject({
        status: 403,
        body: { errors: [{ reason: expect.stringMatching(/^Unauthorized/) }] },
      });
      expect(await change(person, { id: "operator/debian-13" })).toMatchObject(NOT_FOUND);
    }
    expect(await world.anonymous.get(`${IMAGES}/operator/debian-12`)).toMatchObject({ body: { label: "debian-12" } });
  });

  test("a change needs images:read_write, and without a token it is 401", async () => {
    await using world = await newWorld();
    const alice = await world.customer();
    const image = await availableImage(world, alice);
    const reader = await world.colleague(alice.accountId, { scopes: ["images:read_only"] });

    expect(await change(reader, image)).toMatchObject({
      status: 401,
      body: { errors: [{ reason: expect.stringContaining("images:read_write") }] },
    });
    expect((await change(world.anonymous as Person, image)).status).toBe(401);
  });

  test("for a restricted user no grant is 404, read_only is 403, and read_write suffices", async () => {
    await using world = await newWorld();
    const alice = await world.customer();
    const image = await availableImage(world, alice);
    const [none, reads, writes] = [
      await world.colleague(alice.accountId, { restricted: true }),
      await world.colleague(alice.accountId, { restricted: true }),
      await world.colleague(alice.accountId, { restricted: true }),
    ];
    await grant(world, reads, numberOf(image), "read_only");
    await grant(world, writes, numberOf(image), "read_write");

    expect(await change(none, image)).toMatchObject(NOT_FOUND);
    expect((await change(reads, image)).status).toBe(403);
    expect((await change(writes, image)).status).toBe(200);
  });
});

test("label and description change at once, with an event, an audit entry and a new time", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);
  world.time.now = new Date(world.time.now.getTime() + 60_000);

  const reply = await alice.put<Image>(pathOf(image), { label: "Renamed", description: "Better" });

  expect(reply.status).toBe(200);
  expect(updateImage.reply.parse(reply.body)).toMatchObject({
    id: image.id,
    label: "Renamed",
    description: "Better",
    created: image.created,
    updated: world.time.now.toISOString().slice(0, 19),
  });
  expect(await eventsOf(world, "image_update")).toMatchObject([
    { status: "notification", entity_id: String(numberOf(image)), entity_label: "Renamed", username: alice.username },
  ]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "update_image", target: `image/${numberOf(image)}` });
});

test("omitted fields stay, null clears a description, and read-only fields are ignored", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice, { description: "Ours" });
  const put = async (body: object) => (await alice.put<Image>(pathOf(image), body)).body;

  expect(await put({ label: "Renamed" })).toMatchObject({ label: "Renamed", description: "Ours" });
  expect(await put({})).toMatchObject({ label: "Renamed", description: "Ours" });
  expect(await put({ description: null })).toMatchObject({ label: "Renamed", description: null });
  expect(await put({ description: "" })).toMatchObject({ description: null });
  const planted = { is_public: true, size: 1, status: "creating", account_id: 1, type: "automatic", created_by: "x" };
  expect(await put({ label: "Renamed", ...planted })).toMatchObject({
    is_public: false,
    size: 100,
    status: "available",
    type: "manual",
    created_by: alice.username,
  });
  // Compatible clients wait for an event of each.
  expect(await eventsOf(world, "image_update")).toHaveLength(5);
});

test("an invalid change is refused by its field, after checking the image", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  const image = await availableImage(world, alice);

  for (const [field, value] of [
    ["label", ""],
    ["label", "a".repeat(51)],
    ["label", null],
    ["description", "a".repeat(65_001)],
    ["description", 5],
  ] as const)
    expect(await alice.put(pathOf(image), { [field]: value })).toMatchObject({
      status: 400,
      body: { errors: [{ field }] },
    });
  expect(await bob.put(pathOf(image), { label: "" })).toMatchObject(NOT_FOUND);
});

test("deleting an image deletes its grants, its event names the user, and a second time is 404", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);
  const rob = await world.colleague(alice.accountId, { restricted: true });
  await grant(world, rob, numberOf(image), "read_write");

  expect(await rob.delete(pathOf(image))).toMatchObject({ status: 200, body: {} });

  expect(await imageRow(world, image)).toMatchObject({ deleted_at: world.time.now, cleared_at: null });
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
  expect(await eventsOf(world, "image_delete")).toMatchObject([
    { status: "notification", entity_id: String(numberOf(image)), username: rob.username },
  ]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "delete_image", target: `image/${numberOf(image)}` });
  expect(await alice.delete(pathOf(image))).toMatchObject(NOT_FOUND);
  expect(await eventsOf(world, "image_delete")).toHaveLength(1);
});

test("an upload deleted before its data arrived fails with that reason", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { image } = (await upload(alice)).body;

  expect((await alice.delete(pathOf(image))).status).toBe(200);

  const { body } = await alice.get<{ data: Event[] }>("/v4/account/events");
  expect(body.data.find(({ action }) => action === "image_upload")).toMatchObject({
    status: "failed",
    message: texts.deletedBeforeUpload().text,
  });
});

test("a failed upload keeps its reason when it is deleted", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { image } = (await upload(alice)).body;
  const { event_id } = await imageRow(world, image);
  const at = world.time.now;
  await world.db.updateTable("images").set({ failed_at: at }).where("id", "=", numberOf(image)).execute();
  await world.db
    .updateTable("events")
    .set({ status: "failed", message: "Not gzip.", finished_at: at })
    .where("id", "=", event_id)
    .execute();

  await alice.delete(pathOf(image));

  expect(await eventsOf(world, "image_upload")).toMatchObject([{ status: "failed", message: "Not gzip." }]);
});

test("of two concurrent deletions one succeeds, and the other is not found", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);

  const replies = await Promise.all([alice.delete(pathOf(image)), alice.delete(pathOf(image))]);

  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
  expect(await eventsOf(world, "image_delete")).toHaveLength(1);
});
