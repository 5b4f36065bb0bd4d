import { expect, test } from "vitest";
import type { Text } from "@moorage/contract/texts";
import { newWorld, type World } from "#testing/world.ts";
import {
  findOperation,
  markStarted,
  nextRun,
  operationsToStart,
  operationsToSweep,
  openOperation,
  settleOperation,
} from "./operation-store.ts";

async function openOne(world: World) {
  const { accountId } = await world.customer();
  const operation = { accountId, kind: "provisionDatabase", entityId: 7, at: world.time.now, deadlineSeconds: 60 };
  const { id } = await world.db.transaction().execute((tx) => openOperation(tx, operation));
  return findOperation(world.db, id);
}
const later = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000);

test("of two concurrent calls that settle an operation, one succeeds and its message stays", async () => {
  await using world = await newWorld();
  const { id } = await openOne(world);
  const settle = (message: Text) =>
    world.db.transaction().execute((tx) => settleOperation(tx, id, { outcome: "failed", message, at: world.time.now }));

  const settled = await Promise.all(["a", "b", "c"].map((text) => settle({ code: "request.test", text })));

  const winners = settled.filter((row) => row !== undefined);
  expect(winners).toHaveLength(1);
  expect(await world.lastOperation()).toMatchObject({ message: winners[0]?.message, outcome: "failed" });
});

test("of two sweepers, one gets the next run, and none gets it for a settled operation", async () => {
  await using world = await newWorld();
  const operation = await openOne(world);

  const runs = await Promise.all([nextRun(world.db, operation), nextRun(world.db, operation)]);

  expect(runs.filter((row) => row !== undefined)).toMatchObject([{ run: 1, started_at: null }]);
  await world.db.updateTable("operations").set({ settled_at: world.time.now }).execute();
  expect(await nextRun(world.db, { ...operation, run: 1 })).toBeUndefined();
});

test("an operation is due for start until marked, then for sweeps, and for neither once settled", async () => {
  await using world = await newWorld();
  const { id, created_at } = await openOne(world);
  const due = async (at: Date) => [
    (await operationsToStart(world.db, 10)).length,
    (await operationsToSweep(world.db, at, 10)).length,
  ];

  expect(await due(later(created_at, 29))).toEqual([1, 0]);
  await markStarted(world.db, [id], later(created_at, 10));
  expect(await due(later(created_at, 39))).toEqual([0, 0]);
  expect(await due(later(created_at, 40))).toEqual([0, 1]);
  await world.db.updateTable("operations").set({ settled_at: created_at }).execute();
  expect(await due(later(created_at, 999))).toEqual([0, 0]);
});

test("a control plane that was set back opens no operation", async () => {
  await using world = await newWorld();
  await world.db.updateTable("installation").set({ set_back_at: world.time.now }).execute();

  await expect(openOne(world)).rejects.toMatchObject({ kind: "unavailable" });

  expect(await world.openOperations()).toEqual([]);
});
