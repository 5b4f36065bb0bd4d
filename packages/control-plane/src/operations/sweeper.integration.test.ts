import { Client, Connection } from "@temporalio/client";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import type { Loop } from "#platform/worker-part.ts";
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
  const rows = { fails: () => Promise.reject(new Error("away")), works: async () => done.resolve("done") };
  const sweeper = startOn(world, [{ jobs: { rows } }]);
  expect(await done.promise).toBe("done");
  await sweeper.close();
});

test("a server that hangs delays no health check, and no other loop", async () => {
  await using world = await newWorld();
  const [hanging, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const rounds = { health: 0, rows: 0, remote: 0 };
  const count = (loop: Loop) => async () => void rounds[loop]++;
  const hang = async (): Promise<void> => {
    rounds.remote++;
    hanging.resolve();
    await answer.promise;
  };
  const sweeper = startOn(world, [
    { proofs: { reconcile: () => answer.promise } },
    { jobs: { health: { health: count("health") }, rows: { rows: count("rows") }, remote: { hang } } },
  ]);
  await hanging.promise;
  const before = { ...rounds };

  await expect.poll(() => rounds.health - before.health).toBeGreaterThan(5);
  await expect.poll(() => rounds.rows - before.rows).toBeGreaterThan(5);
  // Nor does it overlap with itself.
  expect(rounds.remote).toBe(1);
  answer.resolve();
  await sweeper.close();
});

test("no loop does anything before the proofs have found the database current", async () => {
  await using world = await newWorld();
  await world.db.updateTable("installation").set({ fingerprint: "of another server" }).execute();
  const ran: string[] = [];
  const job = (name: string) => async () => void ran.push(name);
  let proofs = 0;
  const prove = async () => void proofs++;
  const sweeper = startOn(world, [
    {
      proofs: { prove },
      jobs: { health: { health: job("health") }, rows: { rows: job("rows") }, remote: { remote: job("remote") } },
    },
  ]);
  await expect.poll(() => proofs).toBeGreaterThan(5);
  expect(ran).toEqual([]);

  await sql`update installation set fingerprint = current_fingerprint()`.execute(world.db);
  await expect.poll(() => new Set(ran)).toEqual(new Set(["health", "rows", "remote"]));
  await sweeper.close();
});

const startOn = (world: World, parts: Parameters<typeof startSweeper>[0]["parts"]) =>
  startSweeper({
    db: world.db,
    temporal,
    clock: world.clock,
    log: createLog("test", "silent"),
    everySeconds: 0.05,
    parts,
  });
