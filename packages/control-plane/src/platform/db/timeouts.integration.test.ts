import { sql } from "kysely";
import { expect, inject, onTestFinished, test } from "vitest";
import { newWorld } from "#testing/world.ts";
import { isDatabaseTimeout } from "./database-timeout.ts";
import { createPool, type Timeouts } from "./database.ts";

/** Longer than any test may take, so that only a timeout ends what waits for it. */
const FOREVER_SECONDS = 3600;

async function impatientWorld(timeouts: Timeouts) {
  const world = await newWorld({ timeouts });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const alice = await world.customer();
  return {
    world,
    change: () => alice.put("/v4/account", { city: "Hamburg" }),
    city: async () => (await alice.get<{ city: string }>("/v4/account")).body.city,
  };
}

const stopped = {
  status: 503,
  headers: { "retry-after": "5" },
  body: { errors: [{ reason: expect.stringContaining("in time") }] },
};

test("a request that waits for a held lock is answered 503, changes nothing, and succeeds when the lock is free", async () => {
  const { world, change, city } = await impatientWorld({ lockMs: 100 });
  const lock = await world.db.startTransaction().execute();
  await lock.selectFrom("accounts").select("id").forUpdate().execute();

  expect(await change()).toMatchObject(stopped);
  await lock.rollback().execute();

  expect(await city()).toBe("");
  expect(await change()).toMatchObject({ status: 200 });
});

test("a request with a statement that does not end is answered 503 and changes nothing, and others are served", async () => {
  // Everything before takes less on a busy machine too.
  const { world, change, city } = await impatientWorld({ statementMs: 15_000 });
  await sql`create function dawdle() returns trigger language plpgsql as
    $$ begin perform pg_sleep(${sql.lit(FOREVER_SECONDS)}); return new; end $$`.execute(world.db);
  await sql`create trigger dawdle before update on accounts for each row execute function dawdle()`.execute(world.db);

  expect(await change()).toMatchObject(stopped);

  expect(await city()).toBe("");
});

test("each connection of a pool has the timeouts, and one without them has none", async () => {
  const shown = async (timeouts: Timeouts) => {
    const pool = createPool(`${inject("postgresUrl")}/postgres`, 1, timeouts);
    const { rows } = await pool.query(
      "select current_setting('statement_timeout') s, current_setting('lock_timeout') l",
    );
    await pool.end();
    return rows;
  };

  expect(await shown({ statementMs: 10_000, lockMs: 5000 })).toEqual([{ s: "10s", l: "5s" }]);
  expect(await shown({})).toEqual([{ s: "0", l: "0" }]);
});

test("a statement that gets no connection in time counts as one that met a timeout", async () => {
  const pool = createPool(`${inject("postgresUrl")}/postgres`, 1, { patienceMs: 1000 });
  // A busy machine may take longer for the first one.
  const used: { release(): void }[] = [];
  await expect.poll(async () => used.push(await pool.connect())).toBe(1);

  const error = await pool.query("select 1").catch((thrown: unknown) => thrown);
  for (const each of used) each.release();
  await pool.end();

  expect(isDatabaseTimeout(error)).toBe(true);
});
