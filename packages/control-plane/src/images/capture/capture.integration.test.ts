import { randomBytes } from "node:crypto";
import type { Event, Image } from "@moorage/contract";
import { chunkName, DiskManifest, MANIFEST } from "@moorage/disk-image";
import { readDisk } from "@moorage/disk-image/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { captureFixture, DEVICE } from "#testing/capture-fixture.ts";
import { until } from "#testing/database-on-agent.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import type { World } from "#testing/world.ts";
import { contentKey } from "../model/object-names.ts";
import { texts } from "../model/texts.ts";

let temporal: Temporal;
let store: ObjectStore;
beforeAll(async () => {
  [temporal, store] = [await startTemporal(), await startObjectStore()];
});
afterAll(async () => {
  await temporal[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const settled = (world: World) => until(async () => (await world.lastOperation()).settled_at !== null);
const numberOf = (id: string): number => Number(id.slice("private/".length));
const captures = ({ db }: World) => db.selectFrom("captures").selectAll().execute();
const imageRow = ({ db }: World, id: string) =>
  db.selectFrom("images").selectAll().where("id", "=", numberOf(id)).executeTakeFirstOrThrow();

/** A disk with a gap: nine MiB, most of them zeros. */
const diskWithGap = (): Buffer =>
  Buffer.concat([randomBytes(4096), Buffer.alloc(9 * 1024 ** 2 - 8192), randomBytes(4096)]);

async function rawOf(id: string, content: string): Promise<Buffer> {
  const read = async (name: string): Promise<Buffer> =>
    (await store.objects.get(contentKey(numberOf(id), content, name))) as Buffer;
  const manifest = DiskManifest.parse(JSON.parse(String(await read(MANIFEST))));
  return Buffer.concat(await Array.fromAsync(readDisk(manifest, (index) => read(chunkName(index)))));
}

test("a disk becomes an image of the same bytes, with its progress in the instance's event", async () => {
  await using fixture = await captureFixture(store);
  const { world, host, alice, own } = fixture;
  const raw = diskWithGap();
  host.disks.set(DEVICE, raw);
  await using _ = await startWorker(world, temporal, {});

  const { status, body: image } = await fixture.capture(own.id, { label: "golden", cloud_init: true });
  expect(status).toBe(200);
  expect(image).toMatchObject({
    label: "golden",
    status: "creating",
    type: "manual",
    size: 0,
    created_by: alice.username,
    is_public: false,
    capabilities: ["cloud-init"],
    description: null,
    expiry: null,
  });
  const capture = await fixture.only();
  expect(capture).toEqual({ id: expect.any(String), device: DEVICE, max_bytes: 6144 * 1024 ** 2 });
  await host.report({ id: capture.id, state: "working", percent: 40 });
  const started = (await alice.get<{ data: Event[] }>("/v4/account/events")).body.data[0];
  expect(started).toMatchObject({
    action: "disk_imagize",
    status: "started",
    percent_complete: 40,
    username: alice.username,
    entity: { type: "compute", id: own.compute.id, url: `/v4/compute/instances/${own.compute.id}` },
    secondary_entity: { type: "image", id: numberOf(image.id), label: "golden", url: `/v4/images/${image.id}` },
  });
  await host.report(await host.store(capture));
  await settled(world);

  expect((await alice.get<Image>(`/v4/images/${image.id}`)).body).toMatchObject({
    status: "available",
    size: 9,
    label: "golden",
  });
  const { content } = await imageRow(world, image.id);
  expect((await rawOf(image.id, content as string)).equals(raw)).toBe(true);
  expect((await alice.get<{ data: Event[] }>("/v4/account/events")).body.data[0]).toMatchObject({
    status: "finished",
    percent_complete: 100,
  });
  expect(await captures(world)).toEqual([]);
  await host.poll();
  expect(host.known.size).toBe(0);
});

test("a capture that its host cannot do ends with the host's message, and the image is removed", async () => {
  await using fixture = await captureFixture(store);
  const { world, host, alice } = fixture;
  await using _ = await startWorker(world, temporal, {});
  const { body: image } = await fixture.capture(fixture.own.id);

  await host.report({ id: (await fixture.only()).id, state: "failed", percent: 3, message: "The disk is not there." });
  await settled(world);

  expect((await alice.get(`/v4/images/${image.id}`)).status).toBe(404);
  const [event] = (await alice.get<{ data: Event[] }>("/v4/account/events")).body.data;
  expect(event).toMatchObject({ action: "disk_imagize", status: "failed", message: "The disk is not there." });
  expect(await captures(world)).toEqual([]);
});

test("a disk that a host reports as stored but is not becomes no image", async () => {
  await using fixture = await captureFixture(store);
  const { world, host, alice } = fixture;
  await using _ = await startWorker(world, temporal, {});
  const { body: image } = await fixture.capture(fixture.own.id);
  const capture = await fixture.only();
  const report = await host.store(capture, diskWithGap());
  await store.delete(contentKey(numberOf(image.id), report.content as string, chunkName(1)));

  await host.report(report);
  await settled(world);

  expect((await alice.get(`/v4/images/${image.id}`)).status).toBe(404);
  const [event] = (await alice.get<{ data: Event[] }>("/v4/account/events")).body.data;
  expect(event).toMatchObject({ status: "failed", message: expect.stringContaining("chunk-000001 is missing") });
});

test("a disk that turns out larger than an image may be becomes none", async () => {
  await using fixture = await captureFixture(store, { images: { rawMb: 9 } });
  const { world, host } = fixture;
  await using _ = await startWorker(world, temporal, {});
  await fixture.capture(fixture.own.id);
  const raw = Buffer.concat([diskWithGap(), Buffer.alloc(512)]);

  await host.report(await host.store(await fixture.only(), raw));
  await settled(world);

  expect(await world.lastOperation()).toMatchObject({ outcome: "failed", message_code: "image.capture_above_limit" });
});

test("an unreachable store delays the end of a capture, and does not fail it", async () => {
  await using fixture = await captureFixture(store);
  const { world, host } = fixture;
  await using _ = await startWorker(world, temporal, {});
  const { body: image } = await fixture.capture(fixture.own.id);
  const report = await host.store(await fixture.only(), diskWithGap());
  await store.stop();
  try {
    await host.report(report);
    await until(async () => (await captures(world))[0]?.observed_state === "done");
    expect(await imageRow(world, image.id)).toMatchObject({ status: "creating", deleted_at: null });
  } finally {
    await store.start();
  }
  await settled(world);

  expect(await imageRow(world, image.id)).toMatchObject({ status: "available", content: report.content });
});

test("deleting an image during its capture stops the host and its addresses, and ends the event", async () => {
  await using fixture = await captureFixture(store);
  const { world, host, alice } = fixture;
  await using _ = await startWorker(world, temporal, {});
  const { body: image } = await fixture.capture(fixture.own.id);
  const { id } = await fixture.only();

  expect((await alice.delete(`/v4/images/${image.id}`)).status).toBe(200);
  const uploads = { capture: id, content: crypto.randomUUID(), names: [chunkName(0)] };
  expect(await fixture.gateway.post(host, "/v1/image-uploads", uploads)).toMatchObject({ status: 404 });
  await host.poll();
  expect(host.known.size).toBe(0);
  await settled(world);

  expect(await world.lastOperation()).toMatchObject({ outcome: "failed", message_code: "image.deleted" });
  const [event] = (await world.events()).filter(({ action }) => action === "disk_imagize");
  expect(event).toMatchObject({ status: "failed", message: texts.deleted().text });
});

test("a capture at its deadline fails with its progress, or because the host was not seen", async () => {
  await using fixture = await captureFixture(store, { images: { captureDeadlineSeconds: 60 } });
  const { world, host, alice } = fixture;
  const first = (await fixture.capture(fixture.own.id)).body;
  const { id } = await world.lastOperation();
  await world.expire(id);
  expect(await world.lastOperation()).toMatchObject({
    outcome: "failed",
    message_code: "image.capture_host_unreachable",
  });

  world.time.now = new Date(world.time.now.getTime() + 1000);
  const second = (await fixture.capture(fixture.own.id)).body;
  world.time.now = new Date(world.time.now.getTime() + 1000);
  await host.report({ id: (await fixture.only()).id, state: "working", percent: 73 });
  await world.expire((await world.lastOperation()).id);
  expect(await world.lastOperation()).toMatchObject({ outcome: "failed", message: expect.stringContaining("73 %") });
  for (const { id: gone } of [first, second]) expect((await alice.get(`/v4/images/${gone}`)).status).toBe(404);
  expect(await captures(world)).toEqual([]);
});

test("declaring a host dead fails its running captures", async () => {
  await using fixture = await captureFixture(store);
  const { world, host } = fixture;
  await fixture.capture(fixture.own.id);
  const { id } = await world.lastOperation();
  expect(await world.activities.checkCapture(id)).toBe("working");
  await world.db.updateTable("hosts").set({ state: "dead" }).where("id", "=", host.id).execute();

  expect(await world.activities.checkCapture(id)).toBe("ended");
  await world.activities.settleCapture(id, "ended");

  expect(await world.lastOperation()).toMatchObject({
    outcome: "failed",
    message_code: "image.disk_host_dead",
  });
});

test("each step of a capture is repeatable, and only the first end counts", async () => {
  await using fixture = await captureFixture(store);
  const { world, host } = fixture;
  const { body: image } = await fixture.capture(fixture.own.id);
  const { id } = await world.lastOperation();
  const capture = await fixture.only();
  const report = await host.store(capture, diskWithGap());
  await host.report(report);
  await host.report({ ...report, content: crypto.randomUUID() });
  await host.report({ id: capture.id, state: "working", percent: 1 });

  await Promise.all([1, 2, 3].map(() => world.activities.settleCapture(id, "ended")));
  await world.activities.settleCapture(id, "late");

  expect(await imageRow(world, image.id)).toMatchObject({ status: "available", content: report.content });
  expect((await world.audit()).filter(({ action }) => action.startsWith("captureImage"))).toHaveLength(1);
});
