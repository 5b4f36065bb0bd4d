import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { createDb, createPool } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { newWorld, type World } from "#testing/world.ts";
import {
  countClaims,
  createIdempotency,
  createIdempotencySecrets,
  createIdempotencySweep,
  type IdempotencyRequest,
  Replayed,
} from "./idempotency.ts";

const keyOf = () => randomBytes(32).toString("base64");
const secrets = createIdempotencySecrets({ current: "k1", keys: { k1: keyOf() } });

/** Requests whose effect is a row, so that a second effect is visible. */
async function newEffects(world: World, change: Partial<IdempotencyRequest> = {}) {
  await sql`create table effects (id bigint generated always as identity, text text)`.execute(world.db);
  const { accountId } = await world.customer();
  const { id: userId } = await world.db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  const request: IdempotencyRequest = {
    key: "key",
    accountId,
    userId,
    operationId: "createThing",
    request: { body: { a: 1, b: [2] } },
    secretReply: false,
    secrets,
    now: world.time.now,
    ...change,
  };
  return {
    request,
    count: async () => {
      const { rows } = await sql<{ count: number }>`select count(*) from effects`.execute(world.db);
      return rows[0]?.count;
    },
    /** As a route would: the text of the response, or the error. */
    async send(again: Partial<IdempotencyRequest> = {}, fail?: Error): Promise<string | Error> {
      try {
        const idempotency = createIdempotency({ ...request, ...again });
        const reply = await world.db.transaction().execute(async (tx) => {
          await idempotency.claim(tx);
          const { rows } = await sql<{ id: number }>`insert into effects (text) values ('done') returning id`.execute(
            tx,
          );
          await sql`select pg_sleep(0.02)`.execute(tx);
          if (fail !== undefined) throw fail;
          const answer = { id: rows[0]?.id, password: "pass-word" };
          await idempotency.keep(tx, answer);
          return answer;
        });
        return JSON.stringify(reply);
      } catch (error) {
        return error instanceof Replayed ? error.reply : (error as Error);
      }
    },
  };
}

test("fifty concurrent requests with one key: one effect, fifty equal responses", async () => {
  await using world = await newWorld();
  const { send, count } = await newEffects(world);

  const answers = await Promise.all(Array.from({ length: 50 }, () => send()));

  expect(new Set(answers)).toEqual(new Set(['{"id":1,"password":"pass-word"}']));
  expect(await count()).toBe(1);
});

test("without a key each request has its effect", async () => {
  await using world = await newWorld();
  const { send, count } = await newEffects(world, { key: undefined });

  await send();
  await send();

  expect(await count()).toBe(2);
});

test("the order of a body's fields does not matter; other parameters are refused", async () => {
  await using world = await newWorld();
  const { send, count } = await newEffects(world);
  const first = await send();

  expect(await send({ request: { body: { b: [2], a: 1 } } })).toBe(first);
  for (const request of [
    { body: { a: 1, b: [3] } },
    { body: { a: 1 } },
    { params: { id: 7 }, body: { a: 1, b: [2] } },
  ]) {
    const refused = await send({ request });
    expect(refused).toBeInstanceOf(DomainError);
    expect((refused as DomainError).errors).toEqual([
      { field: "Idempotency-Key", reason: expect.objectContaining({ code: "request.idempotency_key_reused" }) },
    ]);
  }
  expect(await count()).toBe(1);
});

test("a key belongs to one user and one operation", async () => {
  await using world = await newWorld();
  const { send, count } = await newEffects(world);
  const other = await world.customer();
  const { id: userId } = await world.db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", other.accountId)
    .executeTakeFirstOrThrow();
  await send();

  await send({ operationId: "createOther" });
  await send({ accountId: other.accountId, userId });

  expect(await count()).toBe(3);
});

test("a refused or failed request leaves the key free for the next one", async () => {
  await using world = await newWorld();
  const { send, count } = await newEffects(world);

  expect(await send({}, new Error("no"))).toBeInstanceOf(Error);
  expect(await count()).toBe(0);
  expect(await send()).toContain('"id"');
  expect(await count()).toBe(1);
});

test("a process that dies halfway leaves nothing behind, even for a request that waits for it", async () => {
  await using world = await newWorld();
  const { send, count, request } = await newEffects(world);
  const claimed = Promise.withResolvers<number>();
  const pool = createPool(world.databaseUrl, 1);
  pool.on("connect", (client) => client.on("error", () => {}));
  await using doomed = createDb(pool);
  const dying = doomed.transaction().execute(async (tx) => {
    await createIdempotency(request).claim(tx);
    await sql`insert into effects (text) values ('half')`.execute(tx);
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    claimed.resolve(rows[0]?.pid as number);
    await sql`select pg_sleep(30)`.execute(tx);
  });
  const died = dying.then(
    () => "committed",
    () => "died",
  );
  const pid = await claimed.promise;
  const waiting = send();

  await sql`select pg_terminate_backend(${pid})`.execute(world.db);

  expect(await died).toBe("died");
  expect(await waiting).toContain('"id"');
  expect(await count()).toBe(1);
});

test("a secret response is stored so that only the key decrypts it", async () => {
  await using world = await newWorld();
  const { send } = await newEffects(world, { secretReply: true, key: "my-own-key" });
  const first = await send();
  const rows = await world.db.selectFrom("idempotency_keys").selectAll().execute();
  const stored = JSON.stringify(rows) + rows.map(({ key_sha256 }) => key_sha256.toString("latin1")).join();

  expect(first).toContain("pass-word");
  expect(stored).not.toContain("pass-word");
  expect(stored).not.toContain("my-own-key");
  expect(await send()).toBe(first);
});

test("during a key rotation, responses stored under the old key are still replayed", async () => {
  await using world = await newWorld();
  const [k1, k2] = [keyOf(), keyOf()];
  const before = createIdempotencySecrets({ current: "k1", keys: { k1, k2 } });
  const after = createIdempotencySecrets({ current: "k2", keys: { k1, k2 } });
  const { send, count } = await newEffects(world, { secretReply: true, secrets: before });

  expect(await send()).toBe(await send({ secrets: after }));
  expect(await count()).toBe(1);
});

test("a response that only a key of the ring can repeat counts as a need of that key, until it expires", async () => {
  await using world = await newWorld();
  const { send, request } = await newEffects(world, { secretReply: true });
  await send();

  expect(await countClaims(world.db, request.now)).toEqual([{ by: "idempotency_keys", key: "k1", count: 1 }]);
  expect(await countClaims(world.db, new Date(request.now.getTime() + 24 * 3_600_000))).toEqual([]);
});

test.each(["", "x".repeat(256)])("a key of a wrong length is refused by name", async (key) => {
  await using world = await newWorld();
  const { send, count } = await newEffects(world);

  expect(await send({ key })).toMatchObject({ kind: "invalid", errors: [{ field: "Idempotency-Key" }] });
  expect(await count()).toBe(0);
  expect(await send({ key: "x".repeat(255) })).toContain('"id"');
});

test("after 24 hours a key counts as new, swept or not", async () => {
  await using world = await newWorld();
  const { send, count, request } = await newEffects(world);
  const day = 24 * 3_600_000;
  await send();

  const other = { request: { body: "other" } };
  expect(await send({ ...other, now: new Date(request.now.getTime() + day - 1) })).toBeInstanceOf(DomainError);
  expect(await send({ ...other, now: new Date(request.now.getTime() + day) })).toContain('"id":2');
  expect(await count()).toBe(2);
});

test("the sweep removes expired keys in batches, and nothing else", async () => {
  await using world = await newWorld();
  const { send } = await newEffects(world);
  for (let n = 0; n < 5; n++) await send({ key: `old-${n}` });
  world.time.now = new Date(world.time.now.getTime() + 24 * 3_600_000);
  await send({ key: "young", now: world.time.now });
  const left = async () => (await world.db.selectFrom("idempotency_keys").select("operation").execute()).length;

  await createIdempotencySweep(world, 2)();

  expect(await left()).toBe(1);
});
