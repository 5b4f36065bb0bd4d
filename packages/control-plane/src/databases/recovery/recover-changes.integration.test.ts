import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeOnAgent } from "#testing/active-database.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { ENGINE, newWorld, PLAN, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

const LARGE = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };
const NEWER = "c".repeat(64);

async function createFixture(world: World, gateway: Gateway) {
  await world.operator.post("/admin/plans", LARGE);
  const agent = simulateAgent(gateway, await gateway.enrolledHost());
  const alice = await world.customer();
  await agent.poll();
  const { url, id } = await activeOnAgent(world, alice, agent);
  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: NEWER });
  const applied = async (): Promise<number> => {
    const { id: operation } = await world.lastOperation();
    await world.activities.applyChange(operation);
    await agent.poll();
    return operation;
  };
  return {
    alice,
    url,
    id,
    applied,
    view: async () => (await alice.get(url)).body,
    specOnHost: () => [...agent.specs.values()][0] as NodeSpec,
    followed: async () => world.activities.endChange(await applied(), { done: true }),
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
const reserved = async (world: World) => {
  const [host] = await world.db.selectFrom("hosts").selectAll().execute();
  return [host?.reserved_memory_mb, host?.reserved_disk_mb];
};

test("what was resized, patched and suspended after the backup stays so, and its room is counted", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const database = await createFixture(world, gateway);
  const setBack = await copyOf(world.db);
  for (const ask of [
    () => database.alice.put(database.url, { type: LARGE.id }),
    () => database.alice.post(`${database.url}/patch`),
    () => database.alice.post(`${database.url}/suspend`),
  ]) {
    await ask();
    await database.followed();
  }
  await setBack();
  expect(await database.view()).toMatchObject({ status: "active", type: PLAN });

  await database.recover();

  expect(await database.view()).toMatchObject({ status: "suspended", type: LARGE.id, updates: { pending: [] } });
  expect(database.specOnHost()).toMatchObject({
    epoch: 2,
    power: "off",
    engine: { image: NEWER },
    resources: { disk_mb: LARGE.disk_mb },
  });
  expect(await reserved(world)).toEqual([LARGE.memory_mb, LARGE.disk_mb]);
  expect(await world.account(database.alice.accountId)).toMatchObject({ databases: 1, disk_mb: LARGE.disk_mb });
  expect(await database.alice.post(`${database.url}/resume`)).toMatchObject({ status: 200 });
});

test("after a reset that the backup lacks the password is a new one, and the old one stays invalid", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const database = await createFixture(world, gateway);
  const passwordNow = async () =>
    (await database.alice.get<{ password: string }>(`${database.url}/credentials`)).body.password;
  const setBack = await copyOf(world.db);
  const first = await passwordNow();
  await database.alice.post(`${database.url}/credentials/reset`);
  await database.followed();
  const second = await passwordNow();
  await setBack();

  await database.recover();

  expect([first, second]).not.toContain(await passwordNow());
  expect(database.specOnHost().credentials.version).toBe(3);
  expect((await world.events()).at(-1)).toMatchObject({ message_code: texts.recoveredWithPassword().code });
});

test.each([
  ["done", "suspended"],
  ["given up", "active"],
])("a suspension that was in progress in the backup and %s since has ended: %s", async (end, status) => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const database = await createFixture(world, gateway);
  await database.alice.post(`${database.url}/suspend`);
  const setBack = await copyOf(world.db);
  const operation = await database.applied();
  await world.activities.endChange(operation, { done: end === "done" });
  if (end === "given up") await database.applied();
  await setBack();
  expect(await database.view()).toMatchObject({ status: "suspending" });

  await database.recover();

  expect(await database.view()).toMatchObject({ status });
  expect(await world.openOperations()).toEqual([]);
  expect(database.specOnHost().power).toBe(status === "suspended" ? "off" : undefined);
});
