import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";

async function nodeWithSpec(world: World) {
  const [alice, host] = [await world.customer(), await world.host()];
  await alice.create();
  const { id: operation } = await world.lastOperation();
  await world.activities.setDesiredNodes(operation);
  const node = async () => {
    const [only] = await world.nodes();
    return only as NonNullable<typeof only>;
  };
  return { alice, host, operation, node, spec: (await node()).desired_spec as NodeSpec };
}
const signals = (world: World) => world.db.selectFrom("signals").select("operation_id").execute();

test("a final report leaves exactly one signal for the operation that waits", async () => {
  await using world = await newWorld();
  const { host, operation, spec } = await nodeWithSpec(world);

  expect(await host.report(spec, "running")).toBe(true);

  expect(await signals(world)).toEqual([{ operation_id: operation }]);
  expect(await world.checkPhase(operation, "running")).toEqual({ state: "observed" });
});

test("a report of progress leaves no signal and raises the progress that the tenant sees", async () => {
  await using world = await newWorld();
  const { alice, host, operation, spec } = await nodeWithSpec(world);

  expect(await host.report(spec, "working", { percent: 40 })).toBe(false);

  expect(await signals(world)).toEqual([]);
  expect(await world.checkPhase(operation, "running")).toEqual({ state: "pending" });
  const { body } = await alice.get<{ data: object[] }>("/v4/account/events");
  expect(body.data).toMatchObject([{ status: "started", percent_complete: 40 }]);
});

test("100 percent is not shown before the event has ended", async () => {
  await using world = await newWorld();
  const { alice, host, operation, spec } = await nodeWithSpec(world);
  const shown = async () => (await alice.get<{ data: object[] }>("/v4/account/events")).body.data;
  await host.report(spec, "running");

  expect(await shown()).toMatchObject([{ status: "started", percent_complete: 99 }]);
  await world.activities.endChange(operation, { done: true });
  expect(await shown()).toMatchObject([{ status: "finished", percent_complete: 100 }]);
});

test("a failure ends the wait with the host's message", async () => {
  await using world = await newWorld();
  const { host, operation, spec } = await nodeWithSpec(world);

  await host.report(spec, "failed", { message: "The disk is broken." });

  expect(await signals(world)).toHaveLength(1);
  expect(await world.checkPhase(operation, "running")).toEqual({ state: "failed", message: "The disk is broken." });
});

test("a final report of an older generation than desired sends no signal", async () => {
  await using world = await newWorld();
  const { host, node, spec } = await nodeWithSpec(world);
  await world.db.updateTable("nodes").set({ desired_generation: 2 }).execute();

  expect(await host.report(spec, "running")).toBe(false);

  expect(await signals(world)).toEqual([]);
  expect(await node()).toMatchObject({ observed_state: "running", observed_generation: 1 });
});

test("a report that is older than the stored one is ignored, by epoch first", async () => {
  await using world = await newWorld();
  const { host, node, spec } = await nodeWithSpec(world);
  await host.report(spec, "running", { epoch: 2, generation: 3 });
  const known = await node();

  await host.report(spec, "failed", { epoch: 2, generation: 2 });
  await host.report(spec, "failed", { epoch: 1, generation: 9 });
  expect(await node()).toEqual(known);

  await host.report(spec, "failed", { epoch: 2, generation: 3 });
  expect(await node()).toMatchObject({ observed_state: "failed" });
});

test("a host cannot report another host's node", async () => {
  await using world = await newWorld();
  const { operation, node, spec } = await nodeWithSpec(world);
  const before = await node();
  const stranger = await world.host();

  expect(await stranger.report(spec, "gone")).toBe(false);

  expect(await node()).toEqual(before);
  expect(await signals(world)).toEqual([]);
  expect(await world.checkPhase(operation, "running")).toEqual({ state: "pending" });
});

test("a report that a host repeats after the operation has ended sends no signal", async () => {
  await using world = await newWorld();
  const { host, operation, spec } = await nodeWithSpec(world);
  await host.report(spec, "running");
  await world.activities.endChange(operation, { done: true });
  await world.db.deleteFrom("signals").execute();

  await host.report(spec, "running");

  expect(await signals(world)).toEqual([]);
});
