import { type ImageUpload, uploadImage } from "@moorage/contract";
import { expect, test } from "vitest";
import { countWaiting } from "#testing/count-waiting.ts";
import { grantGlobal, imageRow, IMAGES, numberOf, upload, UPLOAD } from "#testing/image-fixture.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";

const imageCount = async (world: World): Promise<number> =>
  (await world.db.selectFrom("images").select("id").execute()).length;

test("an upload is a pending image, an audit entry and a started event in one commit, with an address", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await upload(alice, { label: "Golden", description: "Ours", cloud_init: true });

  expect(reply.status).toBe(200);
  const { image, upload_to } = uploadImage.reply.parse(reply.body);
  expect(image).toMatchObject({
    id: expect.stringMatching(/^private\/\d+$/),
    label: "Golden",
    description: "Ours",
    capabilities: ["cloud-init"],
    status: "pending_upload",
    type: "manual",
    size: 0,
    is_public: false,
    created_by: alice.username,
    expiry: null,
    eol: null,
    vendor: null,
    deprecated: false,
  });
  expect(new URL(upload_to).pathname).toBe(`/images/uploads/${numberOf(image)}`);
  const day = new Date(world.time.now.getTime() + 86_400_000);
  expect(await imageRow(world, image)).toMatchObject({
    account_id: alice.accountId,
    region: REGION,
    upload_until: day,
    remove_at: day,
    operation_id: null,
    next_check_at: expect.any(Date),
  });
  const [event] = await world.events();
  expect(event).toMatchObject({
    action: "image_upload",
    status: "started",
    username: alice.username,
    finished_at: null,
    entity_type: "image",
    entity_id: String(numberOf(image)),
    entity_label: "Golden",
    entity_url: `/v4/images/${image.id}`,
  });
  expect((await imageRow(world, image)).event_id).toBe(event?.id);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "upload_image", target: `image/${numberOf(image)}` });
  expect((await alice.get(`${IMAGES}/${image.id}`)).body).toEqual(image);
});

test("the address is valid for a day and requires no header of its own", async () => {
  await using world = await newWorld();
  const { searchParams } = new URL((await upload(await world.customer())).body.upload_to);

  expect(searchParams.get("X-Amz-Expires")).toBe("86400");
  expect(searchParams.get("X-Amz-SignedHeaders")).toBe("host");
  expect([...searchParams.keys()].filter((key) => /checksum|content-type/i.test(key))).toEqual([]);
});

test("the address is in no table, and in no audit entry", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { upload_to } = (await upload(alice)).body;
  const signature = new URL(upload_to).searchParams.get("X-Amz-Signature") as string;

  for (const table of ["images", "events", "audit", "operations", "idempotency_keys"] as const) {
    const rows = await world.db.selectFrom(table).selectAll().execute();
    expect(`${table} ${JSON.stringify(rows)}`).not.toContain(signature);
  }
});

test("a repeated key returns the same address and creates nothing; in the table it is sealed", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const send = (body: object) =>
    world.send({
      method: "POST",
      url: UPLOAD,
      payload: JSON.stringify(body),
      headers: {
        authorization: `Bearer ${alice.token}`,
        "idempotency-key": "k",
        "content-type": "application/json",
      },
    });
  const body = { label: "Golden", region: REGION };

  const [first, second] = [await send(body), await send(body)];

  expect(first.statusCode).toBe(200);
  expect(second.json()).toEqual(first.json());
  expect(await imageCount(world)).toBe(1);
  expect(await world.events()).toHaveLength(1);
  const kept = await world.db.selectFrom("idempotency_keys").selectAll().executeTakeFirstOrThrow();
  expect(kept.reply).not.toContain(numberOf(first.json<ImageUpload>().image));
  expect(kept.reply).not.toContain("uploads");
  expect((await send({ ...body, label: "Other" })).statusCode).toBe(400);
});

test.each([
  ["no label", { label: undefined }, "label is required"],
  ["an empty label", { label: "" }, "label must be a valid value: 1 to 50 characters"],
  ["a label of 51 characters", { label: "a".repeat(51) }, "label must be a valid value: 1 to 50 characters"],
  ["a label of two lines", { label: "a\nb" }, "label must be a valid value"],
  ["no region", { region: undefined }, "region is required"],
  ["an unknown region", { region: "atlantis" }, `region must be a valid value: one of ${REGION}`],
  ["an empty description", { description: "" }, "description must be a valid value: 1 to 65000 characters"],
  ["a description of 65001 characters", { description: "a".repeat(65_001) }, "description must be a valid value"],
  ["cloud_init as a word", { cloud_init: "yes" }, "cloud_init must be a valid value: true or false"],
])("%s is refused by the name of its field, and nothing is created", async (_what, change, reason) => {
  await using world = await newWorld();

  const reply = await upload(await world.customer(), change);

  const [field] = Object.keys(change);
  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field, reason: expect.stringContaining(reason) }] } });
  expect(await imageCount(world)).toBe(0);
  expect(await world.events()).toEqual([]);
});

test("the longest label and description are accepted, and a label that another image has", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const longest = { label: "ö".repeat(50), description: "a".repeat(65_000) };

  expect((await upload(alice, longest)).body.image).toMatchObject(longest);
  expect((await upload(alice, longest)).status).toBe(200);
});

test("no token is 401, another scope is 401, and read_only is not enough", async () => {
  await using world = await newWorld();
  for (const scopes of [["images:read_only"], ["account:read_write"]])
    expect(await upload(await world.customer({ scopes }))).toMatchObject({
      status: 401,
      body: { errors: [{ reason: expect.stringContaining("images:read_write") }] },
    });
  expect((await upload(world.anonymous as never)).status).toBe(401);
  expect(await imageCount(world)).toBe(0);
});

test("a restricted user needs add_images, and holds read_write on what they make", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const rob = await world.colleague(owner.accountId, { restricted: true });

  expect(await upload(rob)).toMatchObject({ status: 403, body: { errors: [{ reason: /add_images/ }] } });
  await grantGlobal(world, rob, "add_images");
  const { image } = (await upload(rob)).body;

  expect((await rob.get(`${IMAGES}/${image.id}`)).status).toBe(200);
  expect((await rob.put(`${IMAGES}/${image.id}`, { label: "Mine" })).status).toBe(200);
  const held = await world.db.selectFrom("entity_grants").selectAll().execute();
  expect(held).toMatchObject([{ user_id: rob.userId, entity_type: "image", permission: "read_write" }]);
  expect((await rob.delete(`${IMAGES}/${image.id}`)).status).toBe(200);
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
});

test("an account that is closed meanwhile gets no image", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  let pending: ReturnType<typeof upload> | undefined;
  await world.db.transaction().execute(async (tx) => {
    await tx.updateTable("accounts").set({ closed_at: world.time.now }).where("id", "=", alice.accountId).execute();
    pending = upload(alice);
    await expect.poll(() => countWaiting(world)).toBe(1);
  });

  expect((await pending)?.status).toBe(401);
  expect(await imageCount(world)).toBe(0);
});

// Its address would be valid for the image of another account.
test("no upload is accepted while the control plane may have been set back", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await world.db.updateTable("installation").set({ set_back_at: world.time.now }).execute();

  expect((await upload(alice)).status).toBe(503);
  expect(await imageCount(world)).toBe(0);
});

// The grant waits for a deletion of the user, which waits for the account: it must come before the account's row.
test("a restricted user deleted during an upload is refused, without a deadlock", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const rob = await world.colleague(owner.accountId, { restricted: true });
  await grantGlobal(world, rob, "add_images");

  let pending: ReturnType<typeof upload> | undefined;
  await world.db.transaction().execute(async (tx) => {
    await tx.deleteFrom("users").where("id", "=", rob.userId).where("account_id", "=", rob.accountId).execute();
    pending = upload(rob);
    await expect.poll(() => countWaiting(world)).toBe(1);
    await tx.updateTable("accounts").set({ event_seq: 1 }).where("id", "=", rob.accountId).execute();
  });

  expect((await pending)?.status).toBe(401);
  expect(await imageCount(world)).toBe(0);
});

test("a label that is too long and an unknown region are refused together", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await alice.post("/v4/images/upload", { label: "x".repeat(51), region: "moon" });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "label" }, { field: "region" }] } });
});
