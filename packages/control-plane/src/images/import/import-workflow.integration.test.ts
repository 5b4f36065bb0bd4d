import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createPurgingImageStores, type PurgingImageStores } from "#images/index.ts";
import { until, untilSettled } from "#testing/database-on-agent.ts";
import { imageRow } from "#testing/image-fixture.ts";
import { aDisk, diskIn, later, uploaded } from "#testing/import-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { plainImporter } from "#testing/plain-importer.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World, type WorldSettings } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

let temporal: Temporal;
let store: ObjectStore;
let imageStores: PurgingImageStores;
beforeAll(async () => {
  [temporal, store] = [await startTemporal(), await startObjectStore()];
  imageStores = createPurgingImageStores({ home: { regions: [], ...store.settings } }, 24);
});
beforeEach(() => store.empty());
afterAll(async () => {
  imageStores.close();
  await temporal[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const createWorld = (settings: WorldSettings = {}) =>
  newWorld({ imageStores, runImporter: plainImporter, ...settings });
/** With the real importer process. */
const createRealWorld = () => newWorld({ imageStores });
const madeEvent = async (world: World) => (await world.events()).find(({ action }) => action === "image_upload");

/** An upload whose data have arrived, with an open import. */
async function begun(world: World, data: Buffer<ArrayBuffer>) {
  const { image } = await uploaded(world, await world.customer(), data);
  later(world, 3);
  await world.checkUploads();
  return image;
}
/** Runs a worker until then. */
async function work(world: World, more: object, ended: () => Promise<void>): Promise<void> {
  const worker = await startWorker(world, temporal, more);
  await ended();
  await worker[Symbol.asyncDispose]();
}
/** Until the store is clean as well: that is the workflow's last action. */
const untilEmpty = () => until(async () => (await store.keys()).length === 0);
async function untilOnlyContent(world: World, image: { id: string }): Promise<void> {
  const { id, content } = await imageRow(world, image);
  await until(async () => (await store.keys()).every((key) => key.startsWith(`images/${id}/${content}/`)));
}

test("the workflow makes an upload available, read by the importer process", async () => {
  await using world = await createRealWorld();
  const disk = aDisk(17);
  const image = await begun(world, gzipSync(disk));
  await work(world, {}, async () => {
    await untilSettled(world);
    await untilOnlyContent(world, image);
  });

  expect(await imageRow(world, image)).toMatchObject({ status: "available", size_mb: 17 });
  expect((await diskIn(world, store.objects, image)).equals(disk)).toBe(true);
  expect(await madeEvent(world)).toMatchObject({ status: "finished" });
});

test("the workflow fails data that are no disk, with a helpful sentence", async () => {
  await using world = await createRealWorld();
  const image = await begun(world, Buffer.from("no disk"));
  await work(world, {}, async () => {
    await untilSettled(world);
    await untilEmpty();
  });

  expect(await imageRow(world, image)).toMatchObject({ status: "pending_upload", failed_at: expect.any(Date) });
  expect(await madeEvent(world)).toMatchObject({ status: "failed", message: expect.stringMatching(/gzip/) });
});

test("the import waits for an unreachable store, and continues", async () => {
  await using world = await createWorld();
  const image = await begun(world, gzipSync(aDisk(1)));
  await store.stop();
  let tries = 0;
  const importUpload: World["activities"]["importUpload"] = async (operationId) => {
    tries++;
    return world.activities.importUpload(operationId);
  };
  await work(world, { importUpload }, async () => {
    await until(async () => tries >= 2);
    await store.start();
    await untilSettled(world);
  });

  expect(await imageRow(world, image)).toMatchObject({ status: "available" });
});

test("a dead worker is noticed by its missing heartbeat, and another one imports", async () => {
  await using world = await createWorld();
  const image = await begun(world, gzipSync(aDisk(1)));
  let tries = 0;
  let wake = (): void => {};
  const silent = new Promise<{ kind: "ended" }>((resolve) => {
    wake = () => resolve({ kind: "ended" });
  });
  const importUpload: World["activities"]["importUpload"] = async (operationId) =>
    ++tries === 1 ? silent : world.activities.importUpload(operationId);
  await work(world, { importUpload }, async () => {
    await untilSettled(world);
    // Too late: its result is ignored.
    wake();
  });

  // On a slow machine the second one can miss a heartbeat too.
  expect(tries).toBeGreaterThanOrEqual(2);
  expect(await imageRow(world, image)).toMatchObject({ status: "available" });
});

test("each activity that completed but was reported as failed leaves one image and one event", async () => {
  await using world = await createWorld();
  const image = await begun(world, gzipSync(aDisk(9)));
  const reported = new Set<string>();
  const lost =
    <Given extends unknown[], T>(name: string, done: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> => {
      const result = await done(...given);
      if (reported.has(name)) return result;
      reported.add(name);
      throw new Error("the answer is lost");
    };
  const { importUpload, settleUpload, clearUpload } = world.activities;
  const activities = {
    importUpload: lost("import", importUpload),
    settleUpload: lost("settle", settleUpload),
    clearUpload: lost("clear", clearUpload),
  };
  await work(world, activities, async () => {
    await until(async () => reported.size === 3);
    await untilOnlyContent(world, image);
  });

  expect(await imageRow(world, image)).toMatchObject({ status: "available" });
  expect((await world.events()).map(({ action, status }) => `${action} ${status}`)).toEqual(["image_upload finished"]);
});

test("after the deadline the workflow itself reports that the import was late", async () => {
  await using world = await createWorld({ images: { importDeadlineSeconds: 5 } });
  const image = await begun(world, gzipSync(aDisk(1)));
  const importUpload = async (): Promise<never> => {
    throw new Error("the store is away");
  };
  await work(world, { importUpload }, async () => {
    await untilSettled(world);
    await untilEmpty();
  });

  expect(await imageRow(world, image)).toMatchObject({ failed_at: expect.any(Date) });
  expect(await madeEvent(world)).toMatchObject({ status: "failed", message: texts.importDeadlineExceeded().text });
});
