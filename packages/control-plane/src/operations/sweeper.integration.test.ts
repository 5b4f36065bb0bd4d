import { Client, Connection } from "@temporalio/client";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { newWorld, type World } from "#testing/world.ts";
import { startSweeper, sweepOnce } from "./sweeper.ts";

/** Temporal is down: nothing listens here. Without interceptors a call is not retried. */
const connection = Connection.lazy({ address: "127.0.0.1:1", connectTimeout: 200, interceptors: [] });
const temporal = new Client({ connection });

const sweepAfter = (world: World, seconds: number) => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
  const log = createLog("test", "silent");
  return sweepOnce({
    db: world.db,
    temporal,
    clock: world.clock,
    log,
    everySeconds: 10,
    parts: world.parts.map(({ expire = {} }) => ({ expire })),
  });
};

test("an operation without a running workflow is ended a minute after its deadline, and not before", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create()).body;

  await sweepAfter(world, 900 + 60);
  expect(await world.openOperations()).toEqual(["provisionDatabase"]);

  await sweepAfter(world, 11);
  expect(await world.openOperations()).toEqual([]);
  expect((await alice.get(`/v4/databases/mysql/instances/${id}`)).body).toMatchObject({ status: "failed" });
});

test("an unreachable Temporal does not count as a lost workflow", async () => {
  await using world = await newWorld();
  await (await world.customer()).create();
  await world.db.updateTable("operations").set({ started_at: world.time.now }).execute();

  await sweepAfter(world, 60);

  expect(await world.lastOperation()).toMatchObject({ run: 0, started_at: expect.any(Date) });
});

test("the sweeper leaves an operation that was never started to the relay", async () => {
  await using world = await newWorld();
  await (await world.customer()).create();

  await sweepAfter(world, 60);

  expect(await world.lastOperation()).toMatchObject({ run: 0, started_at: null, settled_at: null });
});

test("a job that fails because a server is unreachable delays no other job", async () => {
  await using world = await newWorld();
  const done = Promise.withResolvers<string>();
  const sweeper = startSweeper({
    db: world.db,
    temporal,
    clock: world.clock,
    log: createLog("test", "silent"),
    everySeconds: 0.05,
    parts: [{ jobs: { fails: () => Promise.reject(new Error("away")), works: async () => done.resolve("done") } }],
  });
  expect(await done.promise).toBe("done");
  await sweeper.close();
});
