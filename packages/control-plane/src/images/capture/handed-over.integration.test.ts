import type { Event } from "@moorage/contract";
import { chunkName } from "@moorage/disk-image";
import { afterAll, beforeAll, expect, test } from "vitest";
import { captureFixture } from "#testing/capture-fixture.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { TRANSFERS } from "#testing/transfer-fixture.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

/** A capture of alice's that her host works on, and a way to transfer its instance. */
async function createFixture() {
  const fixture = await captureFixture(store);
  const { world, alice } = fixture;
  const { body: image } = await fixture.capture(fixture.own.id);
  const { id: operation } = await world.lastOperation();
  return {
    ...fixture,
    image,
    handOver: async () => {
      const body = { entities: { computes: [fixture.own.compute.id] } };
      const { token } = (await alice.post<{ token: string }>(TRANSFERS, body)).body;
      await (await world.customer()).post(`${TRANSFERS}/${token}/accept`);
      await world.activities.moveOwnership((await world.lastOperation()).id);
    },
    settle: () => world.activities.settleCapture(operation, "ended"),
    event: async () =>
      (await alice.get<{ data: Event[] }>("/v4/account/events")).body.data.find(
        ({ action }) => action === "disk_imagize",
      ),
  };
}
const disk = (): Buffer => Buffer.alloc(9 * 1024 ** 2, 1);

// From then on the disk holds what its new owner writes.
test("transferring an instance during a capture stops the host, and its former owner gets no image", async () => {
  await using fixture = await createFixture();
  const { alice, host, image } = fixture;
  const capture = await fixture.only();

  await fixture.handOver();
  const uploads = { capture: capture.id, content: crypto.randomUUID(), names: [chunkName(0)] };
  expect(await fixture.gateway.post(host, "/v1/image-uploads", uploads)).toMatchObject({ status: 404 });
  await host.poll();
  expect(host.known.size).toBe(0);
  expect(await fixture.settle()).toBe("settled");

  expect((await alice.get(`/v4/images/${image.id}`)).status).toBe(404);
  expect(await fixture.event()).toMatchObject({
    status: "failed",
    message: expect.stringContaining("another account"),
  });
});

test("transferring it after its disk was read, and before the image is available, does the same", async () => {
  await using fixture = await createFixture();
  const { alice, host, image } = fixture;
  await host.report(await host.store(await fixture.only(), disk()));

  await fixture.handOver();
  expect(await fixture.settle()).toBe("settled");

  expect((await alice.get(`/v4/images/${image.id}`)).status).toBe(404);
  expect(await fixture.event()).toMatchObject({
    status: "failed",
    message: expect.stringContaining("another account"),
  });
});

test("transferring it afterwards leaves the image with the account that requested it", async () => {
  await using fixture = await createFixture();
  const { alice, host, image } = fixture;
  await host.report(await host.store(await fixture.only(), disk()));
  expect(await fixture.settle()).toBe("settled");

  await fixture.handOver();

  expect((await alice.get(`/v4/images/${image.id}`)).body).toMatchObject({ status: "available", size: 9 });
});
