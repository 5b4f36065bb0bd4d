import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeOnAgent } from "#testing/active-database.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";

const BOTH = ["198.51.100.1", "203.0.113.7"];
const ONE = ["203.0.113.7"];

/** One active database that admits both. */
async function createFixture(world: World, gateway: Gateway) {
  const agent = simulateAgent(gateway, await gateway.enrolledHost());
  const alice = await world.customer();
  await agent.poll();
  const { url } = await activeOnAgent(world, alice, agent, { allow_list: BOTH });
  return {
    view: async () => (await alice.get(url)).body,
    specOnHost: () => [...agent.specs.values()][0] as NodeSpec,
    accept: (allow_list: string[]) => alice.put(url, { allow_list }),
    async apply() {
      const { id: operation } = await world.lastOperation();
      await world.activities.applyChange(operation);
      await agent.poll();
      return operation;
    },
    async recover() {
      let done = false;
      const command = world.operator.post("/admin/recover", { wait_seconds: 300 }).finally(() => {
        done = true;
      });
      while (!done) await agent.poll();
      expect(await command).toMatchObject({ status: 200, body: { kept: 1, missing: [], orphans: [] } });
      await agent.poll();
    },
  };
}

test("a source that was removed after the backup stays out: the host's later list counts", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const database = await createFixture(world, gateway);
  const setBack = await copyOf(world.db);
  await database.accept(ONE);
  await world.activities.endChange(await database.apply(), { done: true });
  await setBack();
  expect(await database.view()).toMatchObject({ allow_list: BOTH });

  await database.recover();

  expect(await database.view()).toMatchObject({ status: "active", allow_list: ONE });
  expect(database.specOnHost()).toMatchObject({ epoch: 2, firewall: { sources: ["203.0.113.7/32"] } });
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_update", status: "finished" });
});

test("an update that was open in the backup and is on its host has ended, and its list stays", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const database = await createFixture(world, gateway);
  await database.accept(ONE);
  const setBack = await copyOf(world.db);
  await database.apply();
  await setBack();

  await database.recover();

  expect(await database.view()).toMatchObject({ status: "active", allow_list: ONE });
  expect(await world.openOperations()).toEqual([]);
  expect(database.specOnHost()).toMatchObject({ epoch: 2, firewall: { sources: ["203.0.113.7/32"] } });
});

test("an update in the backup that a later one replaced is ended, and the later list stays", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const database = await createFixture(world, gateway);
  await database.accept(ONE);
  const setBack = await copyOf(world.db);
  await world.activities.endChange(await database.apply(), { done: true });
  await database.accept([]);
  await world.activities.endChange(await database.apply(), { done: true });
  await setBack();

  await database.recover();

  expect(await database.view()).toMatchObject({ status: "active", allow_list: [] });
  expect(database.specOnHost()).toMatchObject({ epoch: 2, firewall: { sources: [] } });
  expect(await world.openOperations()).toEqual([]);
  expect((await world.events()).map(({ action, status }) => [action, status])).toEqual([
    ["database_create", "finished"],
    ["database_update", "failed"],
    ["database_update", "finished"],
  ]);
});
