import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { brokenImages } from "#testing/broken-images.ts";
import { captureFixture, DEVICE } from "#testing/capture-fixture.ts";
import { justBefore } from "#testing/just-before.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { REGION } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;

/** A capture that its host has read, and the operation that settles it. */
async function captured() {
  await store.empty();
  const fixture = await captureFixture(store);
  const { world, host, own } = fixture;
  host.disks.set(DEVICE, Buffer.alloc(9 * 1024 ** 2, "a disk"));
  const { body: image } = await fixture.capture(own.id);
  const capture = await fixture.only();
  await host.report(await host.store(capture));
  const operation = (await world.lastOperation()).id;
  return {
    ...fixture,
    image,
    path: `/v4/images/${image.id}`,
    desired: capture,
    operation,
    settle: () => world.activities.settleCapture(operation, "ended"),
    async sweep(): Promise<void> {
      world.time.now = new Date(world.time.now.getTime() + 2 * DAY_MS);
      await world.run("clearImages");
      await world.run("sweepImages");
    },
    broken: () =>
      brokenImages(async (text) => (await sql.raw(text).execute(world.db)).rows as never, world.imageStores.all),
  };
}

test("deleted while it is settled, an image is never available, has one end, and leaves nothing", async () => {
  await using fixture = await captured();
  const { world, alice, path } = fixture;
  justBefore(world.imageStores.of(REGION), "list", () => alice.delete(path));
  await fixture.settle();

  expect((await alice.get(path)).status).toBe(404);
  const [made] = (await world.events()).filter(({ action }) => action === "disk_imagize");
  expect(made).toMatchObject({ status: "failed", message: texts.deleted().text });
  await fixture.sweep();
  expect(await store.keys()).toEqual([]);
  expect(await fixture.broken()).toEqual([]);
});

test("settled by three at once, a capture is settled once, and the host no longer gets it", async () => {
  await using fixture = await captured();
  const { world, host, operation } = fixture;
  await Promise.all([fixture.settle(), fixture.settle(), world.expire(operation)]);
  await host.poll();

  expect(host.known.size).toBe(0);
  expect((await world.events()).filter(({ action }) => action === "disk_imagize")).toHaveLength(1);
  await fixture.sweep();
  expect(await fixture.broken()).toEqual([]);
});

test("a restarted host captures again: the image has its first folder, the other is swept", async () => {
  await using fixture = await captured();
  const { host, desired } = fixture;
  await host.put(desired.id, randomUUID(), "chunk-000000", Buffer.from("a second try"));
  await host.report({ id: desired.id, state: "working", percent: 3 });
  await fixture.settle();
  await fixture.sweep();

  expect(await fixture.broken()).toEqual([]);
});

test("a stopped host that continues with an address that it has fills no store", async () => {
  await using fixture = await captured();
  const { world, alice, image, path } = fixture;
  const late = await world.imageStores
    .of(REGION)
    .presignPut(`images/${image.id.slice(8)}/${randomUUID()}/chunk-000000`);
  await alice.delete(path);
  await fixture.settle();
  await fixture.sweep();
  await fetch(late, { method: "PUT", body: "too late" });
  await fixture.sweep();

  expect(await store.keys()).toEqual([]);
});
