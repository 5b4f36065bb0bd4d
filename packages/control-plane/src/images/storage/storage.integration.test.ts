import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { availableImage, grant, imageRow, upload } from "#testing/image-fixture.ts";
import { aDisk, importAll, imported, later, sendData, uploaded } from "#testing/import-fixture.ts";
import { oneImageStore } from "#testing/one-image-store.ts";
import { plainImporter } from "#testing/plain-importer.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;

const one = oneImageStore();

const createWorld = () => newWorld({ imageStores: one.imageStores, runImporter: plainImporter });
const statusOf = async (alice: Awaited<ReturnType<World["customer"]>>, { id }: { id: string }) =>
  (await alice.get(`/v4/images/${id}`)).status;
const madeEvent = async (world: World) => (await world.events()).find(({ action }) => action === "image_upload");

test("an upload without data exists to the last second of its 24 hours, and is then removed", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = (await upload(alice)).body;
  later(world, DAY - 1);
  await world.run("removeImages");
  expect(await statusOf(alice, image)).toBe(200);

  later(world, 1);
  await world.run("removeImages");
  await world.run("removeImages");
  expect(await statusOf(alice, image)).toBe(404);
  expect(await madeEvent(world)).toMatchObject({
    status: "failed",
    message: texts.uploadMissing({ hours: 24 }).text,
  });
  expect((await world.audit()).filter(({ action }) => action === "remove_image")).toHaveLength(1);
});

test("data that arrived while no worker checked are in time", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  later(world, DAY);
  await world.run("removeImages");
  expect(await world.openOperations()).toEqual(["importImage"]);

  later(world, HOUR);
  await world.run("removeImages");
  await importAll(world);
  expect((await alice.get(`/v4/images/${image.id}`)).body).toMatchObject({ status: "available" });
});

test("while the store is unreachable no upload is given up", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  later(world, DAY);
  await one.store.stop();
  await world.run("removeImages");
  expect(await statusOf(alice, image)).toBe(200);

  await one.store.start();
  later(world, 60);
  await world.run("removeImages");
  expect(await world.openOperations()).toEqual(["importImage"]);
});

test("a failed upload stays for an hour", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, Buffer.from("no disk"));
  await importAll(world);
  later(world, HOUR - 1);
  await world.run("removeImages");
  expect(await statusOf(alice, image)).toBe(200);

  later(world, 1);
  await world.run("removeImages");
  expect(await statusOf(alice, image)).toBe(404);
  expect(await madeEvent(world)).toMatchObject({ status: "failed", message: "The data are not gzip." });
});

test("an automatic image is removed when it expires, with its grants; a manual one stays", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const bob = await world.colleague(alice.accountId, { restricted: true });
  const expiry = new Date(world.time.now.getTime() + 7 * DAY * 1000);
  const automatic = await availableImage(world, alice, { type: "automatic", expiry, remove_at: expiry });
  const manual = await availableImage(world, alice);
  await grant(world, bob, (await imageRow(world, automatic)).id, "read_only");
  later(world, 7 * DAY - 1);
  await world.run("removeImages");
  expect(await statusOf(alice, automatic)).toBe(200);

  later(world, 1);
  await world.run("removeImages");
  expect([await statusOf(alice, automatic), await statusOf(alice, manual)]).toEqual([404, 200]);
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
  expect((await world.events()).at(-1)).toMatchObject({ action: "image_delete", status: "notification" });
});

test("nothing of a deleted image stays, nor what is uploaded to it afterwards", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const disk = gzipSync(aDisk(1));
  const { image, upload_to } = await uploaded(world, alice, disk);
  await importAll(world);
  await alice.delete(`/v4/images/${image.id}`);
  await world.run("clearImages");
  expect(await one.store.keys()).toEqual([]);

  await sendData(upload_to, disk);
  later(world, 31 * HOUR);
  await world.run("clearImages");
  expect(await one.store.keys()).toEqual([]);
  expect(await imageRow(world, image)).toMatchObject({ cleared_at: world.time.now });
  expect(await world.db.selectFrom("image_copies").selectAll().execute()).toEqual([]);
});

test("a deleted image waits for an unreachable store, and is cleared when it is back", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const image = await imported(world, alice, aDisk(1));
  await alice.delete(`/v4/images/${image.id}`);
  later(world, 2 * DAY);
  await one.store.stop();
  await world.run("clearImages");
  await one.store.start();
  expect(await imageRow(world, image)).toMatchObject({ cleared_at: null });

  later(world, 60);
  await world.run("clearImages");
  expect(await one.store.keys()).toEqual([]);
  expect(await imageRow(world, image)).toMatchObject({ cleared_at: world.time.now });
});

test("a deleted image is not cleared for good while its import runs", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  later(world, 3);
  await world.checkUploads();
  const { id } = await world.lastOperation();
  await alice.delete(`/v4/images/${image.id}`);
  later(world, 2 * DAY);
  await world.run("clearImages");
  const { id: imageId } = await imageRow(world, image);
  await one.store.objects.put(`images/${imageId}/a-try/chunk-000000`, "late");
  expect(await imageRow(world, image)).toMatchObject({ cleared_at: null });

  await world.activities.settleUpload(id, { kind: "ended" });
  later(world, 30);
  await world.run("clearImages");
  expect(await one.store.keys()).toEqual([]);
});

test("the daily sweep removes what no image needs, and leaves what one may need", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const put = (key: string) => one.store.put(key, "x");
  const available = await imageRow(world, await imported(world, alice, aDisk(1)));
  const waiting = await uploaded(world, alice, gzipSync(aDisk(1)));
  later(world, 3);
  const running = await uploaded(world, alice, gzipSync(aDisk(1)));
  await world.db.updateTable("images").set({ next_check_at: null }).where("id", "=", waiting.id).execute();
  later(world, 3);
  await world.checkUploads();
  const failed = await uploaded(world, alice, Buffer.from("no disk"));
  later(world, 3);
  await world.checkUploads();
  const operation = await world.lastOperation();
  await world.activities.settleUpload(operation.id, { kind: "refused", reason: { code: "image.test", text: "no" } });
  const creating = (await upload(alice)).body.image;
  await world.db
    .updateTable("images")
    .set({ status: "creating", next_check_at: null })
    .where("id", "=", (await imageRow(world, creating)).id)
    .execute();
  const needed = [
    ...(await one.store.keys(`images/${available.id}/${available.content}`)),
    `uploads/${waiting.id}`,
    `uploads/${running.id}`,
    `images/${running.id}/a-try/chunk-000000`,
    `images/${(await imageRow(world, creating)).id}/a-try/chunk-000000`,
    "images/no-number/x",
    "other/1",
    "uploads/4444",
  ];
  for (const key of needed.slice(-5)) await put(key);
  const orphans = [
    `images/${available.id}/dead-try/chunk-000000`,
    `uploads/${available.id}`,
    `uploads/${failed.id}`,
    `images/${failed.id}/dead-try/manifest.json`,
  ];
  for (const key of orphans) await put(key);

  await world.run("sweepImages");
  expect(await one.store.keys()).toEqual(needed.sort());
  for (const key of orphans) await put(key);
  later(world, DAY - 1);
  await world.run("sweepImages");
  expect(await one.store.keys()).toEqual([...needed, ...orphans].sort());
  later(world, 1);
  await world.run("sweepImages");
  expect(await one.store.keys()).toEqual(needed);
});

test("objects without a row are kept for a week: our database may have been set back", async () => {
  await using world = await createWorld();
  await one.store.objects.put("images/4444/a-try/chunk-000000", "x");
  later(world, 7 * DAY - 60);
  await world.run("sweepImages");
  expect(await one.store.keys()).toHaveLength(1);

  later(world, DAY);
  await world.run("sweepImages");
  expect(await one.store.keys()).toEqual([]);
});

test("a sweep that did not complete is repeated within ten minutes", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { id } = await imageRow(world, await imported(world, alice, aDisk(1)));
  await one.store.objects.put(`uploads/${id}`, "again");
  await one.store.stop();
  await world.run("sweepImages");
  await one.store.start();
  later(world, 600);
  await world.run("sweepImages");

  expect(await one.store.keys("uploads/")).toEqual([]);
});
