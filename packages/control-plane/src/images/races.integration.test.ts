import { expect, test } from "vitest";
import { until } from "#testing/database-on-agent.ts";
import { justBefore } from "#testing/just-before.ts";
import { plainImporter } from "#testing/plain-importer.ts";
import {
  OTHER_REGION,
  packedDisk,
  put,
  type StoredImages,
  storedImages,
  twoStoresForAll,
} from "#testing/stored-images.ts";
import { REGION } from "#testing/world.ts";
import { checkSoon } from "./import/upload-watcher.ts";
import { texts } from "./model/texts.ts";

const stores = twoStoresForAll();

/** Chance decides who is first. */
const TIMES = 4;
const DAY_MS = 86_400_000;

/** An image whose data have arrived, with the operation that imports it. */
async function importing({ world, requestUpload }: StoredImages, label = "web") {
  const { id, address } = await requestUpload(label);
  await put(address, packedDisk());
  await checkSoon(world.db, world.time.now, [id]);
  world.time.now = new Date(world.time.now.getTime() + 10_000);
  await world.checkUploads();
  return { id, address, path: `/v4/images/private/${id}`, operation: (await world.lastOperation()).id };
}

async function available(fixture: StoredImages, label?: string) {
  const image = await importing(fixture, label);
  await fixture.importOpen();
  return image;
}

/** Two days later everything that expires has ended, and unneeded objects are removed. */
async function later({ world }: StoredImages): Promise<void> {
  world.time.now = new Date(world.time.now.getTime() + 2 * DAY_MS);
  await world.run("removeImages");
  await world.run("clearImages");
  await world.run("sweepImages");
}

const eventsOf = ({ query }: StoredImages, id: number) =>
  query<{ action: string; status: string; message: string | null }>(
    `select action, status, message from events where entity_type = 'image' and entity_id = '${id}' order by id`,
  );

test("deleted while it is settled, an image is never available, has one end, and leaves nothing", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world, alice } = fixture;
  const { id, path, operation } = await importing(fixture);
  const outcome = await world.activities.importUpload(operation);
  justBefore(world.imageStores.of(REGION), "list", () => alice.delete(path));
  await world.activities.settleUpload(operation, outcome);
  await world.activities.clearUpload(operation);

  expect((await alice.get(path)).status).toBe(404);
  expect(await eventsOf(fixture, id)).toEqual([
    { action: "image_upload", status: "failed", message: texts.deleted().text },
    expect.objectContaining({ action: "image_delete" }),
  ]);
  expect(await fixture.keys()).toEqual({ here: [], there: [] });
  expect(await fixture.broken()).toEqual([]);
});

test("deleted while it is published, an image is either public or gone", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world, alice } = fixture;
  for (let n = 0; n < TIMES; n++) {
    const { id, path } = await available(fixture);
    const [deleted, published] = await Promise.all([
      alice.delete(path),
      world.operator.post(`/admin/images/${id}/publish`, { name: `public-${n}`, label: "web" }),
    ]);

    expect([
      [200, 404],
      [404, 200],
    ]).toContainEqual([deleted.status, published.status]);
    const shown = (await world.anonymous.get(`/v4/images/operator/public-${n}`)).status;
    expect(shown).toBe(published.status);
  }
  await fixture.copyAll();
  await later(fixture);
  expect(await fixture.broken()).toEqual([]);
});

test("found by two workers and a store's notification at once, an upload is imported once", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world, query } = fixture;
  const { id, address } = await fixture.requestUpload("web");
  await put(address, packedDisk());
  world.time.now = new Date(world.time.now.getTime() + 5000);
  await Promise.all([
    world.checkUploads(),
    checkSoon(world.db, world.time.now, [id]).then(() => world.checkUploads()),
    world.checkUploads(),
    world.run("removeImages"),
  ]);

  expect(await query("select kind from operations")).toEqual([{ kind: "importImage" }]);
  await fixture.importOpen();
  await fixture.copyAll();
  expect(await fixture.broken()).toEqual([]);
});

test("what has expired is ended by one of two workers", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world } = fixture;
  const { id } = await fixture.requestUpload("web");
  world.time.now = new Date(world.time.now.getTime() + DAY_MS);
  await Promise.all([world.run("removeImages"), world.run("removeImages"), world.run("removeImages")]);

  expect(await eventsOf(fixture, id)).toHaveLength(1);
  expect((await world.audit()).filter(({ action }) => action === "remove_image")).toHaveLength(1);
});

test("two concurrent attempts end as one image, and the second one leaves nothing", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world } = fixture;
  const { operation } = await importing(fixture);
  const tries = await Promise.all([1, 2].map(() => world.activities.importUpload(operation)));
  await Promise.all(tries.map((outcome) => world.activities.settleUpload(operation, outcome)));
  await world.activities.clearUpload(operation);
  await fixture.copyAll();

  expect(tries.map(({ kind }) => kind)).toEqual(["taken", "taken"]);
  expect(await fixture.broken()).toEqual([]);
});

const ended = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));

/** Stops after storing its first chunk, until the test continues or ends it. */
function haltingImporter() {
  const gate = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<void>();
  const run: typeof plainImporter = (order) =>
    plainImporter({
      ...order,
      put: async (name, body, digest) => {
        await order.put(name, body, digest);
        stored.resolve();
        await Promise.race([gate.promise, ended(order.signal)]);
      },
    });
  return { run, stored: stored.promise, goOn: gate.resolve };
}

test("a running attempt is never swept, however old", async () => {
  const { run, stored, goOn } = haltingImporter();
  await using fixture = await storedImages(stores, { runImporter: run });
  const { world } = fixture;
  const { operation } = await importing(fixture);
  const outcome = world.activities.importUpload(operation);
  await stored;
  world.time.now = new Date(world.time.now.getTime() + 2 * DAY_MS);
  await world.run("sweepImages");
  await world.run("removeImages");
  await world.run("clearImages");
  goOn();

  expect(await outcome).toMatchObject({ kind: "taken" });
  await world.activities.settleUpload(operation, await outcome);
  await world.activities.clearUpload(operation);
  await fixture.copyAll();
  expect(await fixture.broken()).toEqual([]);
});

test("after a worker dies during a sweep, the next one continues at once, not the next day", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world } = fixture;
  const { address } = await available(fixture);
  await put(address, packedDisk());
  // Like a dead one: it neither continues nor fails.
  justBefore(world.imageStores.of(REGION), "list", () => new Promise(() => {}));
  void world.run("sweepImages");
  await until(async () => (await fixture.query("select 1 from image_sweeps")).length > 0);
  world.time.now = new Date(world.time.now.getTime() + 600_000);
  await world.run("sweepImages");

  expect(await stores.here.keys("uploads/")).toEqual([]);
});

test("deleting an image while it is read ends the import once, and leaves nothing", async () => {
  const { run, stored } = haltingImporter();
  await using fixture = await storedImages(stores, { runImporter: run });
  const { world, alice } = fixture;
  const { id, path, operation } = await importing(fixture);
  const outcome = world.activities.importUpload(operation);
  await stored;
  expect((await alice.delete(path)).status).toBe(200);
  await world.run("clearImages");
  expect(await outcome).toEqual({ kind: "ended" });
  await world.activities.settleUpload(operation, await outcome);
  await world.activities.clearUpload(operation);

  expect(await eventsOf(fixture, id)).toEqual([
    { action: "image_upload", status: "failed", message: texts.deleted().text },
    expect.objectContaining({ action: "image_delete" }),
  ]);
  expect(await fixture.keys()).toEqual({ here: [], there: [] });
});

test("chunks of a worker that was presumed dead are swept, the finished image is not", async () => {
  const { run, stored, goOn } = haltingImporter();
  let isFirst = true;
  await using fixture = await storedImages(stores, {
    runImporter: (order) => {
      const first = isFirst;
      isFirst = false;
      return (first ? run : plainImporter)(order);
    },
  });
  const { world } = fixture;
  const { operation } = await importing(fixture);
  const zombie = world.activities.importUpload(operation);
  await stored;
  await fixture.importOpen();
  goOn();
  // Nothing waits for it any more, however it ends.
  const late = await zombie.catch(() => undefined);
  if (late !== undefined) await world.activities.settleUpload(operation, late);
  await fixture.copyAll();
  await later(fixture);

  expect(await fixture.broken()).toEqual([]);
});

test("deleted and cleared while it is copied, an image stays in no store", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world, alice } = fixture;
  const { path } = await available(fixture);
  justBefore(world.imageStores.of(OTHER_REGION), "putWhole", async () => {
    await alice.delete(path);
    await world.run("clearImages");
  });
  await world.copyNextImage();

  expect(await fixture.keys()).toEqual({ here: [], there: [] });
  await later(fixture);
  expect(await fixture.broken()).toEqual([]);
});

test("an upload that ends after the last clearing of its image is swept", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { alice } = fixture;
  const { path, address } = await available(fixture);
  await alice.delete(path);
  await later(fixture);
  expect(await fixture.query("select 1 from images where cleared_at is null")).toEqual([]);
  await put(address, packedDisk());
  await later(fixture);

  expect(await fixture.keys()).toEqual({ here: [], there: [] });
});

test("late and settled at the same time, an import ends once", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world } = fixture;
  for (let n = 0; n < TIMES; n++) {
    const { id, operation } = await importing(fixture, `web-${n}`);
    const outcome = await world.activities.importUpload(operation);
    await Promise.all([
      world.activities.settleUpload(operation, outcome),
      world.expire(operation),
      world.activities.settleUpload(operation, outcome),
    ]);
    await world.activities.clearUpload(operation);
    expect(await eventsOf(fixture, id)).toHaveLength(1);
  }
  await fixture.copyAll();
  expect(await fixture.broken()).toEqual([]);
});

test("a closed account's images end with its data, also one that is being imported", async () => {
  await using fixture = await storedImages(stores, { runImporter: plainImporter });
  const { world, query } = fixture;
  await available(fixture, "made");
  await fixture.requestUpload("waiting");
  const { operation } = await importing(fixture, "under way");
  const outcome = world.activities.importUpload(operation);
  await query("update accounts set closed_at = now(), data_until = now()");
  world.time.now = new Date(Date.now() + DAY_MS);
  await Promise.all([world.run("closedAccounts"), world.run("closedAccounts")]);
  await until(async () => (await query("select 1 from images where deleted_at is null")).length === 0);
  await world.activities.settleUpload(operation, await outcome);
  await world.activities.clearUpload(operation);
  await later(fixture);

  expect(await fixture.keys()).toEqual({ here: [], there: [] });
  expect(await fixture.broken()).toEqual([]);
});
