import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { activeOnAgent } from "#testing/active-database.ts";
import { startGateway } from "#testing/gateway.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { newWorld, type World } from "#testing/world.ts";

let temporal: Temporal;
let store: ObjectStore;
beforeAll(async () => {
  [temporal, store] = [await startTemporal(), await startObjectStore()];
});
afterAll(async () => {
  await temporal[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** An active database whose host polls, with a worker for its workflows. */
async function createFixture(world: World, otherwise?: (spec: NodeSpec) => Partial<NodeReport>) {
  const parts = new AsyncDisposableStack();
  const gateway = parts.use(await startGateway(world, { objects: store.objects }));
  const agent = simulateAgent(gateway, await gateway.enrolledHost(), otherwise);
  const alice = await world.customer();
  await agent.poll();
  const { url } = await activeOnAgent(world, alice, agent);
  let listening = true;
  const polling = (async () => {
    while (listening) await agent.poll();
  })();
  parts.defer(async () => {
    listening = false;
    await polling;
  });
  parts.use(await startWorker(world, temporal, {}));
  return { alice, url, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

async function settled(world: World): Promise<void> {
  while ((await world.lastOperation()).settled_at === null) await new Promise((resolve) => setTimeout(resolve, 20));
}
const lastEvent = async (world: World) => (await world.events()).at(-1);

test("a snapshot goes from the request through its host to the list", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);

  await fixture.alice.post(`${fixture.url}/backups`, { label: "one" });
  await settled(world);

  expect((await fixture.alice.get(fixture.url)).body).toMatchObject({ status: "active" });
  expect((await fixture.alice.get(`${fixture.url}/backups`)).body).toMatchObject({ data: [{ label: "one" }] });
  expect(await lastEvent(world)).toMatchObject({ action: "database_backup_create", status: "finished" });
});

test("a snapshot that its host cannot take ends with the reason, and the database is active", async () => {
  const full = ({ tasks = [] }: NodeSpec): Partial<NodeReport> => ({
    tasks: tasks.map(({ id }) => ({ id, state: "failed", percent: 0, message: "no room" })),
  });
  await using world = await newWorld();
  await using fixture = await createFixture(world, full);

  await fixture.alice.post(`${fixture.url}/backups`, { label: "one" });
  await settled(world);

  expect((await fixture.alice.get(fixture.url)).body).toMatchObject({ status: "active" });
  expect((await fixture.alice.get(`${fixture.url}/backups`)).body).toMatchObject({ data: [] });
  expect(await lastEvent(world)).toMatchObject({ status: "failed", message: expect.stringContaining("no room") });
});
