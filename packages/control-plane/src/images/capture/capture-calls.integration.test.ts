import { randomUUID } from "node:crypto";
import type { UploadsReply } from "@moorage/contract/agent";
import { chunkName, MANIFEST } from "@moorage/disk-image";
import { afterAll, beforeAll, expect, test } from "vitest";
import { captureFixture } from "#testing/capture-fixture.ts";
import { until } from "#testing/database-on-agent.ts";
import { notificationsOf } from "#testing/notifications-of.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { simulateCaptures } from "#testing/simulated-capture.ts";

let store: ObjectStore;
beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store[Symbol.asyncDispose]());

test("a poll is answered at once while the agent's captures differ from the desired ones, else it waits", async () => {
  await using fixture = await captureFixture(store);
  const { world, host } = fixture;
  await fixture.capture(fixture.own.id);

  expect((await host.poll({ patient: true })).captures).toHaveLength(1);
  const [id] = [...host.known.keys()];
  expect((await host.poll()).captures).toBeUndefined();
  // A restarted agent knows none.
  host.known.clear();
  expect((await host.poll({ patient: true })).captures).toMatchObject([{ id }]);

  await world.activities.settleCapture((await world.lastOperation()).id, "late");
  expect((await host.poll({ patient: true })).captures).toEqual([]);
  expect((await host.poll()).captures).toBeUndefined();
});

test("a capture that begins or ends wakes the poll of its own host only", async () => {
  await using fixture = await captureFixture(store);
  const { world, host } = fixture;
  await using notifications = await notificationsOf(world.databaseUrl, "host");
  const { received } = notifications;

  await fixture.capture(fixture.own.id);
  await until(async () => received.length === 1);
  await world.activities.settleCapture((await world.lastOperation()).id, "late");
  await until(async () => received.length === 2);
  expect(received).toEqual([String(host.id), String(host.id)]);
});

test("an older agent, which names no captures, gets none and reports as before", async () => {
  await using fixture = await captureFixture(store);
  const { host, gateway } = fixture;
  await fixture.capture(fixture.own.id);

  expect(await host.poll({ old: true })).not.toHaveProperty("captures");
  const observed = { complete: true, nodes: [], unknown: [] };
  expect(await gateway.post(host, "/v1/observed", observed)).toMatchObject({ status: 200 });
  expect(await fixture.world.activities.checkCapture((await fixture.world.lastOperation()).id)).toBe("working");

  // Seen after the request, and still an older agent: no capture will happen.
  fixture.world.time.now = new Date(fixture.world.time.now.getTime() + 1000);
  await host.poll({ old: true });
  expect(await fixture.world.activities.checkCapture((await fixture.world.lastOperation()).id)).toBe("ended");
});

test("only the disk's host gets a capture and its addresses, and may report it", async () => {
  await using fixture = await captureFixture(store);
  const { world, host, gateway } = fixture;
  const { body: image } = await fixture.capture(fixture.own.id);
  const { id } = await fixture.only();
  const other = simulateCaptures(gateway, await gateway.enrolledHost());
  const content = randomUUID();
  const ask = (as: typeof other | undefined, change: object = {}) =>
    gateway.post<UploadsReply>(as, "/v1/image-uploads", {
      capture: id,
      content,
      names: [chunkName(0), MANIFEST],
      ...change,
    });

  await other.poll();
  expect(other.known.size).toBe(0);
  expect(await ask(other)).toMatchObject({ status: 404 });
  expect(await ask(undefined)).toMatchObject({ status: 401 });
  expect(await ask(host, { capture: randomUUID() })).toMatchObject({ status: 404 });
  for (const names of [["../chunk-000000"], ["chunk-0"], [], ["manifest.json.x"]])
    expect(await ask(host, { names })).toMatchObject({ status: 400 });
  await other.report({ id, state: "done", percent: 100, content });
  expect(await world.db.selectFrom("captures").select("observed_state").executeTakeFirst()).toEqual({
    observed_state: null,
  });

  const { status, body } = await ask(host);
  expect(status).toBe(200);
  const folder = `images/${image.id.slice("private/".length)}/${content}`;
  expect(body.urls.map((url) => new URL(url).pathname.split("/").slice(2).join("/"))).toEqual([
    `${folder}/${chunkName(0)}`,
    `${folder}/${MANIFEST}`,
  ]);
  expect(new URL(body.urls[0] as string).searchParams.get("X-Amz-Expires")).toBe("3600");
  expect((await fetch(body.urls[0] as string, { method: "PUT", body: "chunk" })).status).toBe(200);

  await world.activities.settleCapture((await world.lastOperation()).id, "late");
  expect(await ask(host)).toMatchObject({ status: 404 });
});

test("a final report leaves one signal, progress none, and reports after the end are ignored", async () => {
  await using fixture = await captureFixture(store);
  const { world, host } = fixture;
  await fixture.capture(fixture.own.id);
  const { id } = await fixture.only();
  const signals = async () => (await world.db.selectFrom("signals").selectAll().execute()).length;

  await host.report({ id, state: "working", percent: 12 });
  expect([await signals(), (await world.lastOperation()).percent]).toEqual([0, 12]);
  await host.report({ id, state: "failed", percent: 12, message: "no" });
  await host.report({ id, state: "failed", percent: 12, message: "no" });
  expect(await signals()).toBe(1);
  await world.activities.settleCapture((await world.lastOperation()).id, "ended");
  expect(await host.report({ id, state: "failed", percent: 12 })).toMatchObject({ status: 200 });
  expect(await signals()).toBe(1);
});
