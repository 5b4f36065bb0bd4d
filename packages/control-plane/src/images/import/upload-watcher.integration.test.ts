import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { createPurgingImageStores, hintRoute, type PurgingImageStores, startUploadWatcher } from "#images/index.ts";
import { until } from "#testing/database-on-agent.ts";
import { imageRow, upload } from "#testing/image-fixture.ts";
import { aDisk, later, sendData, uploaded } from "#testing/import-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { newWorld, REGION, type World } from "#testing/world.ts";

const AWAY = { url: "http://127.0.0.1:9", region: "us-east-1", access_key: "a", secret_key: "b", bucket: "nowhere" };

let store: ObjectStore;
let imageStores: PurgingImageStores;
beforeAll(async () => {
  store = await startObjectStore();
  imageStores = createPurgingImageStores(
    { home: { regions: [REGION], ...store.settings }, away: { regions: ["us-east"], ...AWAY } },
    24,
  );
});
beforeEach(() => store.empty());
afterAll(async () => {
  imageStores.close();
  await store[Symbol.asyncDispose]();
});

const createWorld = () => newWorld({ imageStores });
const secondsToCheck = async (world: World, image: { id: string }): Promise<number> =>
  (((await imageRow(world, image)).next_check_at?.getTime() ?? 0) - world.time.now.getTime()) / 1000;

test("the older an upload, the less often the store is checked", async () => {
  await using world = await createWorld();
  const { image } = (await upload(await world.customer())).body;
  const waits: number[] = [];
  for (const seconds of [2, 300, 1800, 7200]) {
    later(world, seconds);
    await world.checkUploads();
    waits.push(await secondsToCheck(world, image));
  }
  expect(waits).toEqual([2, 5, 15, 60]);
});

test("an unreachable store delays no upload of another store", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  await world.operator.post("/admin/regions", { id: "us-east", label: "Newark", country: "us" });
  const { image } = (await upload(alice, { region: "us-east" })).body;
  await uploaded(world, alice, gzipSync(aDisk(1)));
  later(world, 3);
  await world.checkUploads();

  expect(await world.openOperations()).toEqual(["importImage"]);
  expect(await imageRow(world, image)).toMatchObject({ status: "pending_upload", operation_id: null });
  expect(await secondsToCheck(world, image)).toBe(2);
});

/** A worker's listener, whose upload watcher would not check again for a minute. */
async function listener(world: World) {
  const { db, clock, images } = world;
  const log = createLog("test", "silent");
  const watcher = startUploadWatcher({ db, clock, images, imageStores, log });
  const app = createServer(log);
  hintRoute(app, watcher.hint);
  const sendHint = (body: unknown) =>
    app.inject({
      method: "POST",
      url: "/hints/objects",
      headers: { "content-type": "application/json" },
      payload: JSON.stringify(body),
    });
  return {
    sendHint,
    async [Symbol.asyncDispose]() {
      await watcher.close();
      await app.close();
    },
  };
}
const record = (key: string) => ({ s3: { bucket: { name: "b" }, object: { key } } });

test("a notification of the store triggers a check at once", async () => {
  await using world = await createWorld();
  const { image, upload_to } = (await upload(await world.customer())).body;
  later(world, 7200);
  await world.checkUploads();
  await using worker = await listener(world);
  await sendData(upload_to, gzipSync(aDisk(1)));
  const { id } = await imageRow(world, image);
  const answer = await worker.sendHint({ Records: [record("elsewhere/1"), record(`uploads%2F${id}`)] });

  expect(answer.statusCode).toBe(200);
  await until(async () => (await world.openOperations()).length === 1);
});

test("a notification of missing data begins nothing", async () => {
  await using world = await createWorld();
  const { image } = (await upload(await world.customer())).body;
  later(world, 7200);
  await world.checkUploads();
  await using worker = await listener(world);
  await worker.sendHint({ Records: [record(`uploads/${(await imageRow(world, image)).id}`)] });
  await until(async () => (await secondsToCheck(world, image)) === 60);

  expect(await world.openOperations()).toEqual([]);
});

test.each([
  ["a store's test", { Service: "S3", Event: "s3:TestEvent" }],
  ["nothing", {}],
  ["a list", []],
  ["another shape", { Records: [{ s3: {} }] }],
  ["ids that are none", { Records: [record("uploads/x"), record("uploads/99999999999999999999"), record("%")] }],
])("a notification of %s is accepted, and changes nothing", async (_name, body) => {
  await using world = await createWorld();
  await using worker = await listener(world);
  expect((await worker.sendHint(body)).statusCode).toBe(200);
});
