import { expect, onTestFinished, test } from "vitest";
import type { Bounds } from "#platform/http/shed.ts";
import { texts } from "#platform/limits/texts.ts";
import { countWaiting } from "#testing/count-waiting.ts";
import { newWorld } from "#testing/world.ts";

/** Changes of one account wait for a lock until the test releases it. */
async function slowAccount(bounds: Partial<Bounds>) {
  const world = await newWorld({ bounds });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const [slow, other] = [await world.customer(), await world.customer()];
  const lock = await world.db.startTransaction().execute();
  // Also when an expectation fails: the world waits for its requests.
  onTestFinished(async () => {
    if (!lock.isRolledBack) await lock.rollback().execute();
  });
  await lock.selectFrom("accounts").select("id").where("id", "=", slow.accountId).forUpdate().execute();
  const change = (who = slow) => who.put("/v4/account", { city: "Hamburg" });
  return {
    world,
    other,
    change,
    changes: (count: number) => Array.from({ length: count }, () => change()),
    release: () => lock.rollback().execute(),
  };
}

const statusesOf = async (replies: readonly Promise<{ status: number }>[]): Promise<number[]> =>
  (await Promise.all(replies)).map(({ status }) => status);

test("an account with slow requests is refused beyond its share, and another account gets the other places", async () => {
  const { other, change, changes, release } = await slowAccount({ maxInFlight: 6, share: { places: 4, atOnce: 4 } });
  const slow = changes(5);

  const refused = await Promise.race(slow);
  const answers = await statusesOf([change(other), other.get("/v4/account/events")]);
  await release();

  expect(refused).toMatchObject({
    status: 429,
    headers: { "retry-after": "1", "x-ratelimit-limit": expect.anything() },
  });
  expect(refused.body).toEqual({ errors: [{ reason: texts.tooManyAtOnce({ most: 4 }).text }] });
  expect(answers).toEqual([200, 200]);
  expect((await statusesOf(slow)).sort((a, b) => a - b)).toEqual([200, 200, 200, 200, 429]);
});

test("an account with slow requests leaves database connections for others, and all of its own are answered", async () => {
  const { world, other, change, changes, release } = await slowAccount({ share: { places: 40, atOnce: 3 } });
  const slow = changes(30);
  await expect.poll(() => countWaiting(world)).toBe(3);

  const answers = await statusesOf([change(other), other.get("/v4/account/events")]);
  const waiting = await countWaiting(world);
  await release();

  expect([answers, waiting]).toEqual([[200, 200], 3]);
  expect(new Set(await statusesOf(slow))).toEqual(new Set([200]));
});

test("requests without a token share the places of their network, and tokens have places of their own", async () => {
  const { world, other } = await slowAccount({ maxInFlight: 6, share: { places: 2, atOnce: 2 } });
  const lock = await world.db.startTransaction().execute();
  await lock.schema.alterTable("regions").addColumn("unused", "text").execute();
  const list = (last: number) =>
    world.send({ url: "/v4/regions", remoteAddress: `2001:db8:1:${last}::1` }).then(({ statusCode }) => statusCode);
  const slow = [1, 2, 3].map(list);

  const refused = await Promise.race(slow);
  const answers = await statusesOf([other.get("/v4/account/events")]);
  await lock.rollback().execute();

  expect([refused, answers]).toEqual([429, [200]]);
  expect((await Promise.all(slow)).sort((a, b) => a - b)).toEqual([200, 200, 429]);
});
