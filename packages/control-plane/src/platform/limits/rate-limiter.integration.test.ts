import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { DomainError } from "#platform/errors.ts";
import { createServer as createHttpServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { newValkey as newServer } from "#testing/valkey.ts";
import { createRateLimiter, type RateLimiter, type RateLimits } from "./rate-limiter.ts";
import type { SharedLimits } from "./shared-limits.ts";
import { identifyWithinLimits } from "./within-limits.ts";

const log = createLog("test", "silent");
const limits: RateLimits = {
  overall: { requests: 30, perSeconds: 120 },
  single: { requests: 10, perSeconds: 60 },
  collection: { requests: 5, perSeconds: 60 },
  accept: { requests: 2, perSeconds: 60 },
  images: { requests: 4, perSeconds: 60 },
};
const view = { id: "view", rate: "single" } as const;
const list = { id: "list", rate: "collection" } as const;

/** A real Valkey with the limiters of any number of processes. Their budgets are refilled only when a test says so. */
async function newValkey() {
  const valkey = await newServer();
  const time = { now: Date.now() };
  const now = (): number => time.now;
  return {
    ...valkey,
    time,
    limits: (patienceMs = 60_000) => valkey.limits({ patienceMs, now }),
    async process(given?: SharedLimits) {
      return createRateLimiter({ limits, shared: given ?? (await valkey.limits({ now })), log, now });
    },
  };
}

/** A call to a server that hangs: whoever does not wait for the server is answered before it. */
const callOf = (shared: SharedLimits): Promise<string> =>
  shared.take(["another"], [limits.single]).then(
    () => "no answer",
    () => "no answer",
  );

const times = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));
const allowedOf = (states: { allowed: boolean }[]): number => states.filter(({ allowed }) => allowed).length;

test("two processes share one budget exactly, however many requests are concurrent", async () => {
  await using valkey = await newValkey();
  const [one, two] = [await valkey.process(), await valkey.process()];

  const states = await times(60, (n) => (n % 2 === 0 ? one : two).take("token:1", view));

  expect(allowedOf(states)).toBe(10);
  const refused = states.find(({ allowed }) => !allowed);
  expect(refused).toMatchObject({ limit: 10, remaining: 0, retryAfter: 6 });
  const fullInMs = (refused?.resetAt.getTime() ?? 0) - valkey.time.now;
  expect(fullInMs).toBeGreaterThan(50_000);
  expect(fullInMs).toBeLessThanOrEqual(60_000);
  expect(allowedOf([await two.take("token:2", view)])).toBe(1);
});

test("each operation has its own budget, all share one overall, and a refusal is charged to none", async () => {
  await using valkey = await newValkey();
  const limiter = await valkey.process();
  const other = await valkey.process();

  // Through two processes: the second does not know of the first's refusals, so the script itself refuses.
  const lists = await times(40, (n) => (n % 2 === 0 ? limiter : other).take("ip:a", list));
  const views = await times(40, (n) => (n % 2 === 0 ? limiter : other).take("ip:a", view));
  const more = await times(40, (n) => limiter.take("ip:a", { id: `other-${n}`, rate: "single" }));

  expect([lists, views, more].map(allowedOf)).toEqual([5, 10, 15]);
  expect(more.find(({ allowed }) => !allowed)).toMatchObject({ limit: 30, retryAfter: 4 });
});

test("a budget is refilled by the server's clock", async () => {
  await using valkey = await newServer();
  const fast = { ...limits, single: { requests: 5, perSeconds: 1 } };
  const limiter = createRateLimiter({ limits: fast, shared: await valkey.limits(), log });
  const began = performance.now();
  await times(10, () => limiter.take("token:1", view));

  await sleep(420);

  const again = allowedOf(await times(10, () => limiter.take("token:1", view)));
  expect(again).toBeGreaterThanOrEqual(2);
  expect(again).toBeLessThanOrEqual((performance.now() - began) / 200);
});

test("while the server is down each process limits from what it knew, and shares again afterwards", async () => {
  await using valkey = await newValkey();
  const [one, two] = [await valkey.process(), await valkey.process()];
  await times(8, () => one.take("token:1", view));
  await valkey.stop();

  const states = await times(50, () => one.take("token:1", view));

  expect(allowedOf(states)).toBe(2);
  expect(allowedOf(await times(50, () => two.take("token:1", view)))).toBe(10);

  await valkey.start();
  let tries = 0;
  const takenByBoth = async (): Promise<number> => {
    // After this time a process calls the server again.
    valkey.time.now += 1000;
    const token = `token again:${++tries}`;
    return allowedOf(await times(50, (n) => (n % 2 === 0 ? one : two).take(token, view)));
  };
  await expect.poll(takenByBoth).toBe(10);
});

test("a server that hangs delays a request by at most the waiting limit, and only the first ones", async () => {
  await using valkey = await newValkey();
  const patienceMs = 2000;
  const shared = await valkey.limits(patienceMs);
  const limiter = await valkey.process(shared);
  valkey.pause();
  const timed = async () => {
    const began = performance.now();
    await limiter.take("token:1", view);
    return performance.now() - began;
  };

  const first = await Promise.all([timed(), timed(), timed()]);
  const next = await Promise.race([callOf(shared), limiter.take("token:1", view)]);

  expect(Math.max(...first)).toBeGreaterThan(patienceMs * 0.9);
  expect(next).toMatchObject({ allowed: true });
});

test("a refused flood causes no more calls to the server", async () => {
  await using valkey = await newValkey();
  const shared = await valkey.limits();
  const limiter = await valkey.process(shared);
  await times(11, () => limiter.take("token:1", view));
  valkey.pause();

  const state = await Promise.race([callOf(shared), limiter.take("token:1", view)]);

  expect(state).toMatchObject({ allowed: false });
  expect(limiter.refusal("token:1", view)).toMatchObject({ allowed: false });
  expect(limiter.refusal("token:2", view)).toBeUndefined();
});

/** An API of one operation behind the limits: accepts token 1 or 2, and requests without a token. */
function newApi(limiter: RateLimiter, trustProxy: string[] | false = false) {
  const app = createHttpServer(log, { trustProxy });
  let lookUps = 0;
  app.get("/v4/list", async (request, reply) => {
    await identifyWithinLimits(limiter, list, request, reply, async () => {
      const { authorization } = request.headers;
      if (authorization === undefined) return undefined;
      lookUps++;
      const tokenId = Number(/^Bearer ([12])$/.exec(authorization)?.[1]);
      if (Number.isNaN(tokenId))
        throw new DomainError("unauthorized", { reason: { code: "token.invalid", text: "Invalid Token" } });
      return { tokenId };
    });
    return {};
  });
  const send = async (headers: Record<string, string>, remoteAddress = "203.0.113.7") =>
    app.inject({ url: "/v4/list", headers, remoteAddress });
  return {
    send,
    lookUps: () => lookUps,
    statuses: async (count: number, headers: (n: number) => Record<string, string>, remoteAddress?: string) =>
      (await times(count, (n) => send(headers(n), remoteAddress))).map(({ statusCode }) => statusCode),
  };
}

test("every response shows the budget, and 429 when to retry", async () => {
  await using valkey = await newValkey();
  const { send } = newApi(await valkey.process());
  const bearer = { authorization: "Bearer 1" };

  expect((await send(bearer)).headers).toMatchObject({ "x-ratelimit-limit": "5", "x-ratelimit-remaining": "4" });
  for (let n = 0; n < 4; n++) await send(bearer);
  const refused = await send(bearer);

  expect(refused.statusCode).toBe(429);
  expect(refused.body).toBe('{"errors":[{"reason":"Too many requests"}]}');
  expect(refused.headers).toMatchObject({ "x-ratelimit-remaining": "0", "retry-after": "12" });
  const resetInSeconds = Number(refused.headers["x-ratelimit-reset"]) - valkey.time.now / 1000;
  expect(resetInSeconds).toBeGreaterThan(50);
  expect(resetInSeconds).toBeLessThanOrEqual(61);
  expect((await send({ authorization: "Bearer 2" })).statusCode).toBe(200);
  expect((await send({})).statusCode).toBe(200);
});

test("anonymous callers share the budget of their address, and a forged header is no other address", async () => {
  await using valkey = await newValkey();
  const { statuses, send } = newApi(await valkey.process());

  const answers = await statuses(20, (n) => ({ "x-forwarded-for": `198.51.100.${n}` }));

  expect(answers.filter((status) => status === 200)).toHaveLength(5);
  expect((await send({}, "203.0.113.8")).statusCode).toBe(200);
});

test("behind a trusted proxy callers are distinguished by the address that the proxy saw", async () => {
  await using valkey = await newValkey();
  const { statuses } = newApi(await valkey.process(), ["10.0.0.1"]);

  const forged = await statuses(20, (n) => ({ "x-forwarded-for": `198.51.100.${n}, 203.0.113.7` }), "10.0.0.1");
  const honest = await statuses(20, (n) => ({ "x-forwarded-for": `198.51.100.${n}` }), "10.0.0.1");

  expect(forged.filter((status) => status === 200)).toHaveLength(5);
  expect(honest.filter((status) => status === 200)).toHaveLength(20);
});

test("guessing tokens is refused after a while without a lookup, and does not reveal a right guess", async () => {
  await using valkey = await newValkey();
  const { statuses, send, lookUps } = newApi(await valkey.process());
  const guesses = await statuses(6, (n) => ({ authorization: `Bearer wrong-${n}` }));
  const before = lookUps();

  expect([401, 429].map((each) => guesses.filter((status) => status === each).length)).toEqual([5, 1]);
  expect((await send({ authorization: "Bearer 1" })).statusCode).toBe(429);
  expect(lookUps()).toBe(before);
  expect((await send({ authorization: "Bearer 1" }, "203.0.113.8")).statusCode).toBe(200);
  expect((await send({})).statusCode).toBe(200);
});
