import { expect, test } from "vitest";
import { countWaiting } from "#testing/count-waiting.ts";
import { availableImage, IMAGES, type Person, upload } from "#testing/image-fixture.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";
import { imageLimitFault } from "./limits.ts";
import { texts } from "./texts.ts";

const reasonsOf = ({ status, body }: { status: number; body: unknown }) => ({
  status,
  reasons: (body as { errors: { reason: string }[] }).errors.map(({ reason }) => reason),
});

/** Rows without an HTTP request, to have many quickly. */
const insertImages = (world: World, { accountId, username }: Person, count: number, change: object = {}) =>
  world.db
    .insertInto("images")
    .values(
      Array.from({ length: count }, () => ({
        account_id: accountId,
        name: null,
        label: "one of many",
        description: null,
        created_by: username,
        status: "pending_upload" as const,
        region: REGION,
        created_at: world.time.now,
        updated_at: world.time.now,
        ...change,
      })),
    )
    .execute();

test("the 25th image is accepted, the 26th is not, and a deleted one makes room", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  await insertImages(world, bob, 25);
  await insertImages(world, alice, 24);

  const last = await upload(alice);
  expect(last.status).toBe(200);
  const tooMany = {
    status: 400,
    reasons: [texts.countLimit({ max: 25, count: 26 }).text],
  };
  expect(reasonsOf(await upload(alice))).toEqual(tooMany);
  await alice.delete(`${IMAGES}/${last.body.image.id}`);
  expect((await upload(alice)).status).toBe(200);
  expect(reasonsOf(await upload(alice))).toEqual(tooMany);
});

test("of two concurrent uploads for the last place, one is accepted", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await insertImages(world, alice, 24);

  // Both have reached the account's row before either may continue.
  let pending: ReturnType<typeof upload>[] = [];
  await world.db.transaction().execute(async (tx) => {
    await tx.selectFrom("accounts").select("id").where("id", "=", alice.accountId).forUpdate().execute();
    pending = [upload(alice), upload(alice)];
    await expect.poll(() => countWaiting(world)).toBe(2);
  });

  expect((await Promise.all(pending)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  const { used } = (await world.operator.get<{ used: object }>(`/admin/accounts/${alice.accountId}/image-limits`)).body;
  expect(used).toMatchObject({ images: 25 });
});

test("automatic images do not count", async () => {
  await using world = await newWorld({ images: { imagesPerAccount: 1, totalMb: 100 } });
  const alice = await world.customer();
  await insertImages(world, alice, 30, { type: "automatic", size_mb: 5000 });

  expect((await upload(alice)).status).toBe(200);
  expect((await upload(alice)).status).toBe(400);
});

test("with one MB left an upload is accepted, with none left it is refused at once", async () => {
  await using world = await newWorld({ images: { totalMb: 300 } });
  const alice = await world.customer();
  await availableImage(world, alice, { size_mb: 299 });

  const image = await availableImage(world, alice, { size_mb: 1 });
  expect(reasonsOf(await upload(alice))).toEqual({
    status: 400,
    reasons: [texts.totalSizeLimit({ maxMb: 300, mb: 301 }).text],
  });
  await alice.delete(`${IMAGES}/${image.id}`);
  expect((await upload(alice)).status).toBe(200);
});

test("an import that would exceed a limit fails with that limit, to the MB", async () => {
  const images = { imagesPerAccount: 25, totalMb: 1000, rawMb: 600 };
  await using world = await newWorld({ images });
  const alice = await world.customer();
  await availableImage(world, alice, { size_mb: 500 });
  const fault = (mb: number) =>
    world.db
      .transaction()
      .execute((tx) => imageLimitFault(tx, alice.accountId, images as never, { addImages: 0, addMb: mb, rawMb: mb }));

  expect(await fault(500)).toBeUndefined();
  expect(await fault(501)).toEqual(texts.totalSizeLimit({ maxMb: 1000, mb: 1001 }));
  expect(await fault(601)).toEqual(texts.sizeLimit({ maxMb: 600, mb: 601 }));
});

test("the operator sets and resets an account's own limits, and existing images stay", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const path = `/admin/accounts/${alice.accountId}/image-limits`;
  await insertImages(world, alice, 3);

  expect((await world.operator.put(path, { images: 2 })).body).toEqual({
    account: alice.accountId,
    limits: { images: 2, total_mb: 153_600, raw_mb: 6144 },
    own: { images: 2, total_mb: null, raw_mb: null },
    used: { images: 3, total_mb: 0 },
  });
  expect(reasonsOf(await upload(alice)).reasons).toEqual([texts.countLimit({ max: 2, count: 4 }).text]);
  expect((await alice.get<{ results: number }>(IMAGES)).body.results).toBe(3);
  // Limits that are not named stay.
  await world.operator.put(path, { total_mb: 10, raw_mb: 7 });
  await world.operator.put(path, { images: 4 });
  expect((await world.operator.get(path)).body).toMatchObject({ limits: { images: 4, total_mb: 10, raw_mb: 7 } });
  expect((await upload(alice)).status).toBe(200);
  await world.operator.put(path, { images: 0 });
  expect(reasonsOf(await upload(alice)).reasons).toEqual([expect.stringContaining("at most 0 images")]);
  await world.operator.put(path, { images: null });
  expect((await upload(alice)).status).toBe(200);

  for (const bad of [{ images: -1 }, { images: 1.5 }, { total_mb: "many" }])
    expect((await world.operator.put(path, bad)).status).toBe(400);
  expect((await world.operator.put("/admin/accounts/999999/image-limits", { images: 1 })).status).toBe(404);
  const lines = await world.db.selectFrom("audit").select("action").where("actor", "=", "operator").execute();
  expect(lines.filter(({ action }) => action === "PUT /admin/accounts/:accountId/image-limits")).toHaveLength(5);
});

test("a refused upload leaves no image, grant or event, and its key is free", async () => {
  await using world = await newWorld({ images: { imagesPerAccount: 0 } });
  const alice = await world.customer();
  const rob = await world.colleague(alice.accountId, { restricted: true });
  await world.db
    .updateTable("users")
    .set({ global_grants: JSON.stringify({ add_images: true }) })
    .where("id", "=", rob.userId)
    .execute();

  expect((await upload(rob)).status).toBe(400);

  for (const table of ["images", "entity_grants", "events", "idempotency_keys"] as const)
    expect({ table, rows: await world.db.selectFrom(table).selectAll().execute() }).toEqual({ table, rows: [] });
});
