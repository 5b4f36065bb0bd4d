import { type Image, toTimestamp } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { captureFixture } from "#testing/capture-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { texts } from "./texts.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

type Removed = {
  id: number;
  images: { id: string; disk: number; label: string; expiry: string }[];
  not_kept: { disk: number; reason: string }[];
};
type Fixture = Awaited<ReturnType<typeof captureFixture>>;
const remove = ({ world, own }: Fixture, body: object = {}) =>
  world.operator.post<Removed>(`/admin/computes/${own.compute.id}/remove`, body);
const addDisk = ({ world, own }: Fixture, disk: object) =>
  world.operator.post<{ id: number }>(`/admin/computes/${own.compute.id}/disks`, {
    label: "more",
    size_mb: 9,
    filesystem: "ext4",
    device: "/dev/vg/more",
    ...disk,
  });

test("the disks of an instance that the operator removes become images that expire after a week", async () => {
  await using fixture = await captureFixture(store);
  const { world, alice, own, host } = fixture;
  const swap = (await addDisk(fixture, { label: "swap", filesystem: "swap" })).body;
  const large = (await addDisk(fixture, { label: "large", size_mb: 6145 })).body;
  const expiry = toTimestamp(new Date(world.time.now.getTime() + 7 * 86_400_000));

  const { status, body } = await remove(fixture);

  expect(status).toBe(200);
  expect(body).toMatchObject({
    images: [{ disk: own.id, label: "root", expiry }],
    not_kept: [
      { disk: swap.id, reason: expect.stringContaining("swap") },
      { disk: large.id, reason: expect.stringMatching(/6145 MB.*6144 MB/) },
    ],
  });
  const url = `/v4/images/${body.images[0]?.id}`;
  expect((await alice.get<Image>(url)).body).toMatchObject({ type: "automatic", status: "creating", expiry, size: 0 });
  expect((await alice.get("/v4/account/events")).body).toMatchObject({
    data: [{ action: "disk_imagize", status: "started", username: null, entity: { id: own.compute.id } }],
  });

  const capture = await fixture.only();
  await host.report(await host.store(capture, Buffer.alloc(9 * 1024 ** 2, 7)));
  await world.activities.settleCapture((await world.lastOperation()).id, "ended");
  expect((await alice.get<Image>(url)).body).toMatchObject({ type: "automatic", status: "available", expiry, size: 9 });
  const row = await world.db.selectFrom("images").select(["remove_at", "expiry"]).executeTakeFirstOrThrow();
  expect(row.remove_at).toEqual(row.expiry);
});

test("automatic images are made beyond every limit of the account, and count towards none", async () => {
  await using fixture = await captureFixture(store, { images: { imagesPerAccount: 1, totalMb: 9 } });
  const { world, alice, host } = fixture;
  const other = await fixture.disk(alice);
  await addDisk(fixture, {});

  expect((await remove(fixture)).body.images).toHaveLength(2);
  await host.poll();
  for (const capture of host.known.values())
    await host.report(await host.store(capture, Buffer.alloc(9 * 1024 ** 2, 7)));
  for (const { id } of await world.db.selectFrom("operations").select("id").execute())
    await world.activities.settleCapture(id, "ended");

  expect((await alice.get<{ data: Image[] }>("/v4/images")).body.data.map(({ status }) => status)).toEqual([
    "available",
    "available",
  ]);
  expect((await fixture.capture(other.id)).status).toBe(200);
});

test("an instance is removed even if the operator declines images or the host cannot make them", async () => {
  await using fixture = await captureFixture(store);
  const { world, own, host } = fixture;
  expect((await remove(fixture, { image: false })).body).toMatchObject({ images: [], not_kept: [] });
  expect(await world.openOperations()).toEqual([]);

  const lost = await fixture.disk(fixture.alice);
  await world.db.updateTable("hosts").set({ state: "dead" }).where("id", "=", host.id).execute();
  const { body } = await world.operator.post<Removed>(`/admin/computes/${lost.compute.id}/remove`, {});
  expect(body).toMatchObject({
    images: [],
    not_kept: [{ disk: lost.id, reason: texts.diskHostDead().text }],
  });
  for (const { compute } of [own, lost])
    expect((await world.operator.get(`/admin/computes/${compute.id}`)).status).toBe(404);
});

test("a disk of a removed instance is read though its rows are deleted, and a failure leaves no image", async () => {
  await using fixture = await captureFixture(store);
  const { world, alice, host } = fixture;
  await remove(fixture);

  await host.report({ id: (await fixture.only()).id, state: "failed", percent: 0, message: "The disk is not there." });
  await world.activities.settleCapture((await world.lastOperation()).id, "ended");

  expect((await alice.get<{ data: Image[] }>("/v4/images")).body.data).toEqual([]);
  expect((await world.events()).at(-1)).toMatchObject({ status: "failed", message: "The disk is not there." });
});
