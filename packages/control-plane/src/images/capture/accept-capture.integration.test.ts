import type { Image } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Text } from "@moorage/contract/texts";
import { captureFixture } from "#testing/capture-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import type { World } from "#testing/world.ts";
import { texts } from "./texts.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

const IMAGES = "/v4/images";
type Person = Awaited<ReturnType<World["customer"]>>;

const grantOn = ({ db }: World, { accountId, userId }: Person, id: number, type: "compute" | "image" = "compute") =>
  db
    .insertInto("entity_grants")
    .values({ account_id: accountId, user_id: userId, entity_type: type, entity_id: id, permission: "read_only" })
    .execute();
const grantAddImages = ({ db }: World, { userId }: Person) =>
  db
    .updateTable("users")
    .set({ global_grants: JSON.stringify({ add_images: true }) })
    .where("id", "=", userId)
    .execute();
const nothingBegan = async (world: World): Promise<void> => {
  expect(await world.openOperations()).toEqual([]);
  expect(await world.db.selectFrom("captures").selectAll().execute()).toEqual([]);
  expect(await world.db.selectFrom("images").selectAll().execute()).toEqual([]);
};
const notADisk = {
  status: 400,
  body: { errors: [{ field: "disk_id", reason: expect.stringContaining(texts.diskUnknown().text) }] },
};

test("a capture needs both scopes, and the refusal names the missing one", async () => {
  await using fixture = await captureFixture(store);
  const { world, alice, own } = fixture;
  const ask = async (...scopes: string[]) =>
    (await world.colleague(alice.accountId, { scopes })).post(IMAGES, { disk_id: own.id });

  expect(await ask("images:read_write")).toMatchObject({
    status: 401,
    body: { errors: [{ reason: expect.stringContaining("computes:read_only") }] },
  });
  expect(await ask("computes:read_only", "images:read_only")).toMatchObject({ status: 401 });
  await nothingBegan(world);
  expect(await ask("images:read_write", "computes:read_only")).toMatchObject({ status: 200 });
});

test("another account's disk is refused like one that does not exist", async () => {
  await using fixture = await captureFixture(store);
  const bob = await fixture.world.customer();
  const foreign = await fixture.disk(bob);

  const replies = [await fixture.capture(foreign.id), await fixture.capture(999_999)];

  for (const reply of replies) expect(reply).toMatchObject(notADisk);
  expect(replies[0]?.body).toEqual(replies[1]?.body);
  await nothingBegan(fixture.world);
});

test("a removed disk, or one transferred with its instance, cannot be captured by its former owner", async () => {
  await using fixture = await captureFixture(store);
  const { world, own, alice } = fixture;
  const bob = await world.customer();
  const removed = await fixture.disk(alice);
  await world.operator.post(`/admin/disks/${removed.id}/remove`, {});
  expect(await fixture.capture(removed.id)).toMatchObject(notADisk);

  await world.db.updateTable("computes").set({ account_id: bob.accountId }).where("id", "=", own.compute.id).execute();

  expect(await fixture.capture(own.id)).toMatchObject(notADisk);
  expect((await bob.post(IMAGES, { disk_id: own.id })).status).toBe(200);
});

test("a restricted user needs add_images and the disk's instance, and may use the image they made", async () => {
  await using fixture = await captureFixture(store);
  const { world, alice, own } = fixture;
  const rob = await world.colleague(alice.accountId, { restricted: true });
  const ask = () => rob.post<Image>(IMAGES, { disk_id: own.id });

  await grantOn(world, rob, own.compute.id);
  expect(await ask()).toMatchObject({
    status: 403,
    body: { errors: [{ reason: expect.stringContaining("add_images") }] },
  });
  await grantAddImages(world, rob);
  await world.db.deleteFrom("entity_grants").execute();
  expect(await ask()).toMatchObject(notADisk);
  await nothingBegan(world);

  await grantOn(world, rob, own.compute.id);
  const { status, body } = await ask();
  expect(status).toBe(200);
  expect((await rob.put(`${IMAGES}/${body.id}`, { label: "mine" })).status).toBe(200);
});

test("disks with the filesystems swap and initrd cannot be captured", async () => {
  await using fixture = await captureFixture(store);
  for (const filesystem of ["swap", "initrd"]) {
    const { id } = await fixture.disk(fixture.alice, { filesystem });
    expect(await fixture.capture(id)).toMatchObject({
      status: 400,
      body: { errors: [{ field: "disk_id", reason: expect.stringMatching(`ext3, ext4 or raw; .* is ${filesystem}`) }] },
    });
  }
  await nothingBegan(fixture.world);
  for (const filesystem of ["ext3", "raw"]) {
    const { id } = await fixture.disk(fixture.alice, { filesystem });
    expect((await fixture.capture(id)).status).toBe(200);
  }
});

test("a disk that no agent can read is refused, with a remedy", async () => {
  await using fixture = await captureFixture(store);
  const { world, alice, host, gateway } = fixture;
  const refused = async (id: number, reason: Text): Promise<void> => {
    expect(await fixture.capture(id)).toMatchObject({
      status: 400,
      body: { errors: [{ field: "disk_id", reason: reason.text }] },
    });
  };

  await refused((await fixture.disk(alice, {}, {})).id, texts.diskHostUnknown());
  const silent = await gateway.enrolledHost();
  await refused((await fixture.disk(alice, {}, { host: silent.name })).id, texts.diskHostNotReady());
  await host.poll({ old: true });
  await refused(fixture.own.id, texts.diskAgentTooOld());
  await host.poll();
  await world.db.updateTable("hosts").set({ state: "dead" }).where("id", "=", host.id).execute();
  await refused(fixture.own.id, texts.diskHostDead());
  await nothingBegan(world);
});

test("a disk above the size limit is refused with the limit; one that just fits is accepted", async () => {
  await using fixture = await captureFixture(store, { images: { rawMb: 100, totalMb: 150 } });
  const disk = async (size_mb: number) => (await fixture.disk(fixture.alice, { size_mb })).id;

  expect(await fixture.capture(await disk(101))).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringMatching(/100 MB uncompressed.*101 MB/) }] },
  });
  expect((await fixture.capture(await disk(100))).status).toBe(200);
  await fixture.world.db.updateTable("images").set({ size_mb: 100 }).execute();
  expect(await fixture.capture(await disk(51))).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringMatching(/150 MB for all.*151 MB/) }] },
  });
  expect((await fixture.capture(await disk(50))).status).toBe(200);
});

test("an account's own size limit is sent to the host", async () => {
  await using fixture = await captureFixture(store);
  await fixture.world.db
    .insertInto("image_limits")
    .values({ account_id: fixture.alice.accountId, images: null, total_mb: null, raw_mb: 20 })
    .execute();
  await fixture.capture(fixture.own.id);

  expect(await fixture.only()).toMatchObject({ max_bytes: 20 * 1024 ** 2 });
});

test("an omitted label is the disk's, cleaned and cut", async () => {
  await using fixture = await captureFixture(store);
  const labelled = async (label: string): Promise<string> => {
    const { id } = await fixture.disk(fixture.alice, { label: "x" });
    await fixture.world.db.updateTable("disks").set({ label }).where("id", "=", id).execute();
    return (await fixture.capture(id)).body.label;
  };

  expect(await labelled("Debian\t13\u0007 disk")).toBe("Debian 13  disk");
  expect(await labelled("é".repeat(60))).toBe("é".repeat(50));
  expect(await labelled(`${"a".repeat(49)}🌊`)).toBe("a".repeat(49));
  expect(await labelled("\u0001 \u0002")).toMatch(/^Disk \d+$/);
});

test("a repeated request with the same key is one capture", async () => {
  await using fixture = await captureFixture(store);
  const { world, alice, own } = fixture;
  const send = () =>
    world.send({
      method: "POST",
      url: IMAGES,
      payload: { disk_id: own.id },
      headers: { authorization: `Bearer ${alice.token}`, "idempotency-key": "once" },
    });

  const [first, second] = [await send(), await send()];

  expect(first.statusCode).toBe(200);
  expect(second.json()).toEqual(first.json());
  expect(await world.openOperations()).toEqual(["captureImage"]);
});

test("concurrent captures and removal of their instance leave nothing incomplete", async () => {
  await using fixture = await captureFixture(store);
  const { world, own } = fixture;
  const [requested, removed] = await Promise.all([
    fixture.capture(own.id),
    world.operator.post(`/admin/computes/${own.compute.id}/remove`, {}),
  ]);

  expect(removed.status).toBe(200);
  const images = await world.db.selectFrom("images").select(["type"]).orderBy("type").execute();
  const own1 = requested.status === 200 ? [{ type: "manual" }] : [];
  expect(images).toEqual([{ type: "automatic" }, ...own1]);
  expect(await world.openOperations()).toHaveLength(images.length);
});
