import { type Image, listImages, viewImage } from "@moorage/contract";
import { expect, test } from "vitest";
import {
  availableImage,
  grant,
  type ImagePage,
  IMAGES,
  numberOf,
  type Person,
  publicImage,
  twoStores,
  upload,
} from "#testing/image-fixture.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";

const NOT_FOUND = { status: 404, body: { errors: [{ reason: expect.stringMatching(/^Not found: there is no /) }] } };
const NO_TOKEN = { status: 401, body: { errors: [{ reason: expect.stringMatching(/^Invalid Token/) }] } };
type Reader = Pick<Person, "get">;

const idsOf = async (reader: Reader): Promise<string[]> =>
  (await reader.get<ImagePage>(IMAGES)).body.data.map(({ id }) => id);

async function filtered(world: World, person: Person | undefined, filter: object) {
  const reply = await world.send({
    url: IMAGES,
    headers: {
      "x-filter": JSON.stringify(filter),
      ...(person && { authorization: `Bearer ${person.token}` }),
    },
  });
  return { status: reply.statusCode, body: reply.json<ImagePage>() };
}

test("without a token only public images are listed, with one also the account's own, never another's", async () => {
  await using world = await newWorld();
  await publicImage(world, "debian-12");
  const [alice, bob] = [await world.customer(), await world.customer()];
  const hers = await availableImage(world, alice);
  const waiting = (await upload(alice)).body.image;

  expect(await idsOf(world.anonymous)).toEqual(["operator/debian-12"]);
  expect(await idsOf(alice)).toEqual(["operator/debian-12", hers.id, waiting.id]);
  expect(await idsOf(bob)).toEqual(["operator/debian-12"]);
  expect(listImages.reply.safeParse((await alice.get(IMAGES)).body).success).toBe(true);
});

test("a private image is 401 without a token and 404 for another account, whether it exists or not", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  const image = await availableImage(world, alice);
  const path = `${IMAGES}/${image.id}`;

  expect(await alice.get(path)).toMatchObject({ status: 200, body: { id: image.id, is_public: false } });
  expect(await bob.get(path)).toMatchObject(NOT_FOUND);
  expect(await bob.get(`${IMAGES}/private/${numberOf(image) + 1}`)).toMatchObject(NOT_FOUND);
  expect(await world.anonymous.get(path)).toMatchObject(NO_TOKEN);
  expect(await world.anonymous.get(`${IMAGES}/private/${numberOf(image) + 1}`)).toMatchObject(NO_TOKEN);
});

test("a public image is visible to everybody, by its name only", async () => {
  await using world = await newWorld();
  const image = await publicImage(world, "debian-12", {
    label: "Debian 12",
    description: "Bookworm",
    vendor: "Debian",
    eol: "2028-06-30T00:00:00",
  });
  const [bob, path] = [await world.customer(), `${IMAGES}/operator/debian-12`];
  const { id } = await world.db.selectFrom("images").select("id").executeTakeFirstOrThrow();

  expect(viewImage.reply.parse(image)).toMatchObject({
    id: "operator/debian-12",
    label: "Debian 12",
    description: "Bookworm",
    vendor: "Debian",
    created_by: "operator",
    is_public: true,
    deprecated: false,
    eol: "2028-06-30T00:00:00",
    expiry: null,
    status: "available",
    type: "manual",
    size: 100,
    capabilities: [],
  });
  for (const reader of [world.anonymous, bob]) {
    expect(await reader.get(path)).toMatchObject({ status: 200, body: { id: "operator/debian-12" } });
    expect(await reader.get(`${IMAGES}/operator%2Fdebian-12`)).toMatchObject({ status: 200 });
    expect(await reader.get(`${IMAGES}/operator/debian-13`)).toMatchObject(NOT_FOUND);
  }
  expect(await bob.get(`${IMAGES}/private/${id}`)).toMatchObject(NOT_FOUND);
});

test("an id is accepted with a slash and with %2F, and nonsense is not found", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);
  const number = numberOf(image);

  expect(await alice.get(`${IMAGES}/private/${number}`)).toMatchObject({ status: 200, body: { id: image.id } });
  expect(await alice.get(`${IMAGES}/private%2F${number}`)).toMatchObject({ status: 200, body: { id: image.id } });
  for (const id of [String(number), `private/0${number}`, `other/${number}`, "private/x", "private%2F", "operator/"])
    expect({ id, ...(await alice.get(`${IMAGES}/${id}`)) }).toMatchObject({ id, status: 404 });
});

test("a token that is sent must carry images:read_only, even for public images", async () => {
  await using world = await newWorld();
  await publicImage(world, "debian-12");
  const [stray, reader] = [
    await world.customer({ scopes: ["account:read_write"] }),
    await world.customer({ scopes: ["images:read_only"] }),
  ];

  for (const path of [IMAGES, `${IMAGES}/operator/debian-12`]) {
    const refused = await stray.get(path);
    expect(refused).toMatchObject({
      status: 401,
      body: { errors: [{ reason: expect.stringContaining("images:read_only") }] },
    });
    expect(refused.headers).toMatchObject({ "x-accepted-oauth-scopes": "images:read_only" });
    expect((await world.as("0".repeat(64)).get(path)).status).toBe(401);
    expect((await reader.get(path)).status).toBe(200);
  }
});

test("a restricted user sees public images and those that they hold a grant on", async () => {
  await using world = await newWorld();
  await publicImage(world, "debian-12");
  const alice = await world.customer();
  const [shown, hidden] = [await availableImage(world, alice), await availableImage(world, alice)];
  const rob = await world.colleague(alice.accountId, { restricted: true });
  await grant(world, rob, numberOf(shown), "read_only");

  expect(await idsOf(rob)).toEqual(["operator/debian-12", shown.id]);
  expect((await rob.get(`${IMAGES}/${shown.id}`)).status).toBe(200);
  expect(await rob.get(`${IMAGES}/${hidden.id}`)).toMatchObject(NOT_FOUND);
  expect((await rob.get(`${IMAGES}/operator/debian-12`)).status).toBe(200);
});

test("each field of the interface filters, and the count is that of the matches", async () => {
  await using world = await newWorld();
  await publicImage(world, "debian-11", { vendor: "Debian" });
  await world.operator.post("/admin/images/operator%2Fdebian-11/deprecate", {});
  await publicImage(world, "alma-9", { vendor: "AlmaLinux" });
  const alice = await world.customer();
  const big = await availableImage(world, alice, { label: "big", size_mb: 5000 });
  const kept = await availableImage(world, alice, { label: "kept", type: "automatic" });
  const waiting = (await upload(alice, { label: "waiting" })).body.image;

  const found = async (filter: object) => {
    const { status, body } = await filtered(world, alice, filter);
    expect({ filter, status, results: body.results }).toEqual({ filter, status: 200, results: body.data.length });
    return body.data.map(({ id }) => id);
  };
  expect(await found({ label: "big" })).toEqual([big.id]);
  expect(await found({ deprecated: true })).toEqual(["operator/debian-11"]);
  expect(await found({ is_public: true })).toEqual(["operator/debian-11", "operator/alma-9"]);
  expect(await found({ is_public: false })).toEqual([big.id, kept.id, waiting.id]);
  expect(await found({ size: { "+gte": 5000 } })).toEqual([big.id]);
  expect(await found({ type: "automatic" })).toEqual([kept.id]);
  expect(await found({ vendor: "Debian" })).toEqual(["operator/debian-11"]);
  expect(await found({ status: "pending_upload" })).toEqual([waiting.id]);
  expect(await found({ "+or": [{ label: "kept" }, { vendor: { "+contains": "alma" } }] })).toEqual([
    "operator/alma-9",
    kept.id,
  ]);
  expect(await found({ is_public: false, "+order_by": "size", "+order": "desc" })).toEqual([
    big.id,
    kept.id,
    waiting.id,
  ]);
});

test("a list cannot be sorted by status, nor filtered by an unknown field", async () => {
  await using world = await newWorld();
  const refused = { status: 400, body: { errors: [{ field: "X-Filter" }] } };

  expect(await filtered(world, undefined, { "+order_by": "status" })).toMatchObject(refused);
  expect(await filtered(world, undefined, { account_id: 1 })).toMatchObject(refused);
  expect(await filtered(world, undefined, { created_by: "operator" })).toMatchObject(refused);
});

test("an image can be deployed where it has a copy", async () => {
  await using world = await newWorld({ imageStores: twoStores(REGION, "us-east") });
  await world.operator.post("/admin/regions", { id: "us-east", label: "Newark", country: "us" });
  const alice = await world.customer();
  const waiting = (await upload(alice)).body.image;
  const image = await availableImage(world, alice);
  const regions = async (): Promise<Image> => (await alice.get<Image>(`${IMAGES}/${image.id}`)).body;
  const copied = (store: string) =>
    world.db
      .insertInto("image_copies")
      .values({
        image_id: numberOf(image),
        store,
        status: "available",
        next_try_at: world.time.now,
        updated_at: world.time.now,
      })
      .execute();

  expect(waiting).toMatchObject({
    size: 0,
    total_size: 0,
    regions: [
      { region: REGION, status: "creating" },
      { region: "us-east", status: "pending replication" },
    ],
  });
  await copied("here");
  expect(await regions()).toMatchObject({
    size: 100,
    total_size: 100,
    regions: [
      { region: REGION, status: "available" },
      { region: "us-east", status: "pending replication" },
    ],
  });
  await copied("there");
  expect(await regions()).toMatchObject({
    total_size: 200,
    regions: [
      { region: REGION, status: "available" },
      { region: "us-east", status: "available" },
    ],
  });
});

test("a deleted image is in no list and is not found", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);
  await alice.delete(`${IMAGES}/${image.id}`);

  expect(await idsOf(alice)).toEqual([]);
  expect(await alice.get(`${IMAGES}/${image.id}`)).toMatchObject(NOT_FOUND);
});
