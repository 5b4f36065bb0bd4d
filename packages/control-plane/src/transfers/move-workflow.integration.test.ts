import { afterAll, beforeAll, expect, test } from "vitest";
import { until, untilSettled } from "#testing/database-on-agent.ts";
import { startTemporal, startWorker, type Temporal } from "#testing/temporal.ts";
import { transferFixture as fixture } from "#testing/transfer-fixture.ts";
import { newWorld, type World } from "#testing/world.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

async function work(world: World): Promise<void> {
  const worker = await startWorker(world, temporal, {});
  await untilSettled(world);
  await worker[Symbol.asyncDispose]();
}

test("the workflow of an accepted transfer moves the instances", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, accept, view, compute } = await fixture(world);
  const transfer = await offer(web);
  await accept(receiver, transfer);
  await work(world);

  expect([await view(sender, transfer), (await compute(web)).account_id]).toEqual(["completed", receiver.accountId]);
});

test("the workflow of a transfer that cannot be carried out fails it", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, accept, view } = await fixture(world);
  const transfer = await offer(web);
  await accept(receiver, transfer);
  await world.operator.post(`/admin/computes/${web.id}/remove`, {});
  await work(world);

  expect(await view(sender, transfer)).toBe("failed");
});

test("an activity that completed but was reported as failed has its effect once", async () => {
  await using world = await newWorld();
  const { receiver, web, offer, accept, compute, eventsOf } = await fixture(world);
  let tries = 0;
  const moveOwnership = async (operationId: number): Promise<void> => {
    await world.activities.moveOwnership(operationId);
    if (++tries < 3) throw new Error("the answer is lost");
  };
  await accept(receiver, await offer(web));
  const worker = await startWorker(world, temporal, { moveOwnership });
  await until(async () => tries >= 3);
  await worker[Symbol.asyncDispose]();

  expect([(await compute(web)).account_id, await eventsOf(receiver)]).toEqual([
    receiver.accountId,
    ["accept finished"],
  ]);
});
