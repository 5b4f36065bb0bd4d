import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { newWorld } from "#testing/world.ts";
import { addCellGauges } from "./cell-gauges.ts";

test("the gauges show the state of the cell, read at most every ten seconds", async () => {
  await using world = await newWorld();
  await world.host();
  await world.registerHost();
  const alice = await world.customer();
  const registry = new Registry();
  addCellGauges(registry, { ...world, log: createLog("test", "silent") });
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => !/^(#|$)/.test(line));

  expect((await lines()).toSorted()).toEqual([
    'moorage_host_silent_seconds{state="active"} 0',
    'moorage_hosts{state="active"} 1',
    'moorage_hosts{state="enrolling"} 1',
  ]);

  await alice.create();
  expect((await lines()).join()).not.toContain("moorage_operations_open");
  world.time.now = new Date(world.time.now.getTime() + 10_000);
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'moorage_operations_open{kind="provisionDatabase"} 1',
      'moorage_operations_waiting{kind="provisionDatabase"} 1',
      'moorage_operation_oldest_seconds{kind="provisionDatabase"} 10',
      'moorage_operation_start_lag_seconds{kind="provisionDatabase"} 10',
      'moorage_host_silent_seconds{state="active"} 10',
    ]),
  );
});
