import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { sha256 } from "#platform/sha256.ts";
import type { Text } from "@moorage/contract/texts";
import { imageRow, upload } from "#testing/image-fixture.ts";
import {
  aDisk,
  diskIn,
  importAll,
  imported,
  later,
  runUploadWatcher,
  sendData,
  uploaded,
} from "#testing/import-fixture.ts";
import { oneImageStore } from "#testing/one-image-store.ts";
import { plainImporter } from "#testing/plain-importer.ts";
import { newWorld, type World, type WorldSettings } from "#testing/world.ts";
import { type MadeContent, settleAvailable } from "../model/settle.ts";
import { texts } from "../model/texts.ts";
import { verifyContent } from "../model/verify-content.ts";
import { beginImport } from "./begin-import.ts";

const one = oneImageStore();

const createWorld = (settings: WorldSettings = {}) =>
  newWorld({ imageStores: one.imageStores, runImporter: plainImporter, ...settings });
const lastEvent = async (world: World) => (await world.events()).at(-1);

test("an upload becomes an image, byte for byte, and its object is removed", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const disk = aDisk(17);
  const image = await imported(world, alice, disk);

  expect(image).toMatchObject({ status: "available", size: 17 });
  expect((await diskIn(world, one.store.objects, image)).equals(disk)).toBe(true);
  const { content, id } = await imageRow(world, image);
  expect(new Set((await one.store.keys()).map((key) => key.split("/").slice(0, 3).join("/")))).toEqual(
    new Set([`images/${id}/${content}`]),
  );
  expect(await lastEvent(world)).toMatchObject({ action: "image_upload", status: "finished" });
  expect(await world.openOperations()).toEqual([]);
});

test("an upload address requires no header of its own", async () => {
  await using world = await createWorld();
  const { upload_to } = (await upload(await world.customer())).body;

  expect(new URL(upload_to).searchParams.get("X-Amz-SignedHeaders")).toBe("host");
  const answer = await fetch(upload_to, { method: "PUT", body: new Blob(["x"]) });
  expect([answer.status, await sendData(upload_to, Buffer.from("y"))]).toEqual([200, 200]);
});

test("an import begins when the data have arrived, not before, and once", async () => {
  await using world = await createWorld();
  const { body } = await upload(await world.customer());
  await runUploadWatcher(world);
  expect(await world.openOperations()).toEqual([]);

  await sendData(body.upload_to, gzipSync(aDisk(1)));
  later(world, 3);
  await Promise.all([world.checkUploads(), world.checkUploads(), world.checkUploads()]);
  expect(await world.openOperations()).toEqual(["importImage"]);
});

test("two workers that see the data at the same moment begin one import", async () => {
  await using world = await createWorld();
  const { id } = await uploaded(world, await world.customer(), gzipSync(aDisk(1)));
  await Promise.all([beginImport(world, id), beginImport(world, id), beginImport(world, id)]);
  await beginImport(world, id);

  expect(await world.openOperations()).toEqual(["importImage"]);
});

test("the event shows the progress of an import", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  await uploaded(world, alice, gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  await world.db.updateTable("operations").set({ percent: 42 }).execute();

  const { body } = await alice.get<{ data: object[] }>("/v4/account/events");
  expect(body.data[0]).toMatchObject({ action: "image_upload", status: "started", percent_complete: 42 });
});

test("refused data fail with the reason, stay visible, and leave nothing in the store", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, Buffer.from("no disk"));
  await importAll(world);

  expect((await alice.get(`/v4/images/${image.id}`)).body).toMatchObject({ status: "pending_upload", size: 0 });
  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: "The data are not gzip." });
  expect(await one.store.keys()).toEqual([]);
});

test("an upload one byte too large is refused with the limit, and not read", async () => {
  const disk = gzipSync(aDisk(1));
  const never = () => Promise.reject(new Error("must not be read"));
  await using world = await createWorld({ images: { uploadBytes: disk.length - 1 }, runImporter: never });
  await uploaded(world, await world.customer(), disk);
  await importAll(world);

  expect(await lastEvent(world)).toMatchObject({
    status: "failed",
    message: expect.stringMatching(`${disk.length} bytes; at most ${disk.length - 1} bytes`),
  });
});

test("an upload of exactly the limit is accepted", async () => {
  const disk = aDisk(1);
  await using world = await createWorld({ images: { uploadBytes: gzipSync(disk).length } });
  expect(await imported(world, await world.customer(), disk)).toMatchObject({ status: "available" });
});

test("an image that would exceed the account's total fails when its size is known, and leaves nothing", async () => {
  await using world = await createWorld({ images: { totalMb: 3 } });
  const alice = await world.customer();
  await imported(world, alice, aDisk(2));
  const kept = await one.store.keys();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(2)));
  await importAll(world);

  expect((await alice.get(`/v4/images/${image.id}`)).body).toMatchObject({ status: "pending_upload" });
  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: expect.stringContaining("3 MB for all") });
  expect(await one.store.keys()).toEqual(kept);
});

test("of two imports that end at once, only as many become available as fit", async () => {
  await using world = await createWorld({ images: { totalMb: 3 } });
  const alice = await world.customer();
  for (const seed of [1, 2]) await uploaded(world, alice, gzipSync(aDisk(2, seed)));
  await runUploadWatcher(world);
  const ids = (await world.db.selectFrom("operations").select("id").execute()).map(({ id }) => id);
  const outcomes = await Promise.all(ids.map((id) => world.activities.importUpload(id)));
  await Promise.all(ids.map((id, n) => world.activities.settleUpload(id, outcomes[n] as never)));

  const images = await world.db.selectFrom("images").select("status").orderBy("status").execute();
  expect(images.map(({ status }) => status)).toEqual(["available", "pending_upload"]);
});

test("an image deleted during its import ends as deleted, whatever the import's outcome", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  const { id } = await world.lastOperation();
  const outcome = await world.activities.importUpload(id);
  await alice.delete(`/v4/images/${image.id}`);
  await world.activities.settleUpload(id, outcome);
  await world.activities.clearUpload(id);

  const made = (await world.events()).find(({ action }) => action === "image_upload");
  expect(made).toMatchObject({ status: "failed", message: texts.deleted().text });
  expect(await world.lastOperation()).toMatchObject({ outcome: "failed" });
  expect(await one.store.keys()).toEqual([]);
});

test("an import whose image is deleted stops by itself, and removes its chunks", async () => {
  let began = () => {};
  const beginning = new Promise<void>((resolve) => {
    began = resolve;
  });
  await using world = await createWorld({
    runImporter: async ({ put, signal }) => {
      await put("chunk-000000", Buffer.from("half"), sha256("half"));
      began();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  const importing = world.activities.importUpload((await world.lastOperation()).id);
  await beginning;
  await alice.delete(`/v4/images/${image.id}`);

  expect(await importing).toEqual({ kind: "ended" });
  expect(await one.store.keys("images/")).toEqual([]);
});

test("an import settled twice is settled once", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  const { id } = await world.lastOperation();
  const [first, second] = [await world.activities.importUpload(id), await world.activities.importUpload(id)];
  await world.activities.settleUpload(id, first);
  const row = await imageRow(world, image);
  later(world, 5);
  await world.activities.settleUpload(id, second);
  await world.activities.settleUpload(id, { kind: "late" });
  await world.activities.clearUpload(id);

  expect(await imageRow(world, image)).toEqual(row);
  expect((await world.audit()).filter(({ action }) => action.startsWith("importImage"))).toHaveLength(1);
  expect(new Set((await one.store.keys()).map((key) => key.split("/")[2]))).toEqual(new Set([row.content]));
});

/** The input of the last transaction. */
async function madeBy(world: World, image: { id: number }, operationId: number): Promise<MadeContent> {
  const outcome = await world.activities.importUpload(operationId);
  if (outcome.kind !== "taken") throw new Error("It was not taken.");
  return { content: outcome.content, ...(await verifyContent(one.imageStores.of(""), image.id, outcome.content)) };
}
const settle = (world: World, operationId: number, content: MadeContent) =>
  world.db.transaction().execute((tx) => settleAvailable(tx, world, operationId, content, world.clock()));

test("the settling transaction sees a deletion in the last moment", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const sent = await uploaded(world, alice, gzipSync(aDisk(1)));
  await beginImport(world, sent.id);
  const { id } = await world.lastOperation();
  const content = await madeBy(world, sent, id);
  await alice.delete(`/v4/images/${sent.image.id}`);

  expect(await settle(world, id, content)).toBe("failed");
  expect(await imageRow(world, sent.image)).toMatchObject({ status: "pending_upload", content: null });
});

test("of two attempts that settle, the second changes nothing", async () => {
  await using world = await createWorld();
  const sent = await uploaded(world, await world.customer(), gzipSync(aDisk(1)));
  await beginImport(world, sent.id);
  const { id } = await world.lastOperation();
  const [first, second] = [await madeBy(world, sent, id), await madeBy(world, sent, id)];

  expect([await settle(world, id, first), await settle(world, id, second)]).toEqual(["available", "before"]);
  expect(await imageRow(world, sent.image)).toMatchObject({ content: first.content });
});

test.each([
  ["a chunk is missing", (key: string) => one.store.delete(key)],
  ["a chunk is shorter", (key: string) => one.store.objects.put(key, "short")],
])("%s: the image does not become available, and the import runs again", async (_name, spoil) => {
  await using world = await createWorld();
  await uploaded(world, await world.customer(), gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  const { id } = await world.lastOperation();
  const outcome = await world.activities.importUpload(id);
  await spoil((await one.store.keys("images/"))[0] as string);

  expect(await world.activities.settleUpload(id, outcome)).toBe("again");
  expect(await world.openOperations()).toEqual(["importImage"]);
  expect(await world.activities.settleUpload(id, await world.activities.importUpload(id))).toBe("settled");
  expect(await world.lastOperation()).toMatchObject({ outcome: "done" });
});

test("after its deadline an import fails with a message that does not blame the data", async () => {
  await using world = await createWorld();
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  await world.expire((await world.lastOperation()).id);

  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: texts.importDeadlineExceeded().text });
  expect(await imageRow(world, image)).toMatchObject({ status: "pending_upload", failed_at: world.time.now });
});

test("data refused for two different reasons are neither accepted nor refused: another attempt decides", async () => {
  const reasons = ["It ends too early.", "Its checksum is wrong."].map((text) => ({ code: "image.test", text }));
  await using world = await createWorld({
    runImporter: () => Promise.resolve({ kind: "refused", reason: reasons.shift() as Text }),
  });
  const alice = await world.customer();
  const { image } = await uploaded(world, alice, gzipSync(aDisk(1)));
  await runUploadWatcher(world);
  const [open] = await world.db.selectFrom("operations").select("id").execute();

  await expect(world.activities.importUpload(open?.id ?? 0)).rejects.toThrow("refused for two reasons");

  expect((await imageRow(world, image)).status).toBe("pending_upload");
});

test("one worker imports at most two uploads at once", async () => {
  let [running, most] = [0, 0];
  const ends: (() => void)[] = [];
  await using world = await createWorld({
    runImporter: async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
      return { kind: "refused", reason: { code: "image.test", text: "enough" } };
    },
  });
  const alice = await world.customer();
  for (const seed of [1, 2, 3]) await uploaded(world, alice, gzipSync(aDisk(1, seed)));
  await runUploadWatcher(world);
  const ids = (await world.db.selectFrom("operations").select("id").execute()).map(({ id }) => id);
  const tries = ids.map((id) => world.activities.importUpload(id));
  const busy = await Promise.any(
    tries.map((each) =>
      each.then(
        () => Promise.reject(new Error()),
        (error) => error,
      ),
    ),
  );
  while (ends.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  // Refused data are read twice.
  for (let ended = 0; ended < 4; ended++) {
    while (ends.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    ends.shift()?.();
  }

  expect([most, (busy as Error).message]).toEqual([2, "This worker imports as much as it can."]);
  await Promise.allSettled(tries);
});
