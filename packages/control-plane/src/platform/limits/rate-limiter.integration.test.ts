import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { newValkey as newServer } from "#testing/valkey.ts";
import { callerOf } from "./caller.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import type { RateLimits } from "./settings.ts";
import type { SharedLimits } from "./shared-limits.ts";

const log = createLog("test", "silent");
const limits: RateLimits = {
  overall: { requests: 30, perSeconds: 120 },
  single: { requests: 10, perSeconds: 60 },
  collection: { requests: 5, perSeconds: 60 },
  accept: { requests: 2, perSeconds: 60 },
  images: { requests: 4, perSeconds: 60 },
  timesOf: { account: 3, network: 2 },
};
/** Each of an account of its own. */
const tokenOf = (tokenId: number) => callerOf.token({ tokenId, accountId: tokenId });
const address = callerOf.anonymous("203.0.113.7");
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

  const states = await times(60, (n) => (n % 2 === 0 ? one : two).take(tokenOf(1), view));

  expect(allowedOf(states)).toBe(10);
  const refused = states.find(({ allowed }) => !allowed);
  expect(refused).toMatchObject({ limit: 10, remaining: 0, retryAfter: 6 });
  const fullInMs = (refused?.resetAt.getTime() ?? 0) - valkey.time.now;
  expect(fullInMs).toBeGreaterThan(50_000);
  expect(fullInMs).toBeLessThanOrEqual(60_000);
  expect(allowedOf([await two.take(tokenOf(2), view)])).toBe(1);
});

test("each operation has its own budget, all share one overall, and a refusal is charged to none", async () => {
  await using valkey = await newValkey();
  const limiter = await valkey.process();
  const other = await valkey.process();

  // Through two processes: the second does not know of the first's refusals, so the script itself refuses.
  const lists = await times(40, (n) => (n % 2 === 0 ? limiter : other).take(address, list));
  const views = await times(40, (n) => (n % 2 === 0 ? limiter : other).take(address, view));
  const more = await times(40, (n) => limiter.take(address, { id: `other-${n}`, rate: "single" }));

  expect([lists, views, more].map(allowedOf)).toEqual([5, 10, 15]);
  expect(more.find(({ allowed }) => !allowed)).toMatchObject({ limit: 30, retryAfter: 4 });
});

test("all tokens of an account share a larger budget, also across processes, and other accounts do not notice", async () => {
  await using valkey = await newValkey();
  const [one, two] = [await valkey.process(), await valkey.process()];
  const takeAll = (accountId: number) =>
    times(100, (n) =>
      (n % 2 === 0 ? one : two).take(callerOf.token({ tokenId: accountId * 1000 + n, accountId }), view),
    );

  const states = await takeAll(1);

  expect(allowedOf(states)).toBe(30);
  expect(states.find(({ allowed }) => !allowed)).toMatchObject({ limit: 30, remaining: 0, sharedBy: "account" });
  expect(allowedOf(await takeAll(2))).toBe(30);
});

test("one token cannot spend the budget of its account, and its own limit is the one that it sees", async () => {
  await using valkey = await newValkey();
  const limiter = await valkey.process();
  const take = (tokenId: number) => limiter.take(callerOf.token({ tokenId, accountId: 1 }), view);

  const flood = await times(100, () => take(1));

  expect(allowedOf(flood)).toBe(10);
  expect(flood.find(({ allowed }) => !allowed)).toMatchObject({ limit: 10, remaining: 0 });
  expect(flood.find(({ sharedBy }) => sharedBy !== undefined)).toBeUndefined();
  expect(allowedOf(await times(100, () => take(2)))).toBe(10);
});

test("all /64 networks of an IPv6 /48 share a larger budget, without a token and for wrong ones", async () => {
  await using valkey = await newValkey();
  const limiter = await valkey.process();
  const take = (kind: "anonymous" | "guess", site: string) =>
    times(100, (n) => limiter.take(callerOf[kind](`2001:db8:${site}:${n.toString(16)}::1`), view));

  const [ours, guesses, others] = [
    await take("anonymous", "1"),
    await take("guess", "1"),
    await take("anonymous", "2"),
  ];

  expect([ours, guesses, others].map(allowedOf)).toEqual([20, 20, 20]);
  expect(ours.find(({ allowed }) => !allowed)).toMatchObject({ limit: 20, sharedBy: "network" });
});

test("a limit with a shorter period applies at once to who has used up the one before", async () => {
  await using valkey = await newValkey();
  const before = createRateLimiter({
    limits: { ...limits, single: { requests: 10, perSeconds: 3600 } },
    shared: await valkey.limits(),
    log,
    now: () => valkey.time.now,
  });
  expect(allowedOf(await times(20, () => before.take(tokenOf(1), view)))).toBe(10);
  const after = await valkey.process();

  expect(await after.take(tokenOf(1), view)).toMatchObject({ allowed: false, retryAfter: 6 });
  valkey.time.now += 6000;

  expect(await after.take(tokenOf(1), view)).toMatchObject({ allowed: true });
});

test("a budget is refilled by the server's clock", async () => {
  await using valkey = await newServer();
  const fast = { ...limits, single: { requests: 5, perSeconds: 1 } };
  const limiter = createRateLimiter({ limits: fast, shared: await valkey.limits(), log });
  const began = performance.now();
  await times(10, () => limiter.take(tokenOf(1), view));

  await sleep(420);

  const again = allowedOf(await times(10, () => limiter.take(tokenOf(1), view)));
  expect(again).toBeGreaterThanOrEqual(2);
  expect(again).toBeLessThanOrEqual((performance.now() - began) / 200);
});

test("while the server is down each process limits from what it knew, and shares again afterwards", async () => {
  await using valkey = await newValkey();
  const [one, two] = [await valkey.process(), await valkey.process()];
  await times(8, () => one.take(tokenOf(1), view));
  await valkey.stop();

  const states = await times(50, () => one.take(tokenOf(1), view));

  expect(allowedOf(states)).toBe(2);
  expect(allowedOf(await times(50, () => two.take(tokenOf(1), view)))).toBe(10);

  await valkey.start();
  let tries = 0;
  const takenByBoth = async (): Promise<number> => {
    // After this time a process calls the server again.
    valkey.time.now += 1000;
    const token = tokenOf(100 + ++tries);
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
    await limiter.take(tokenOf(1), view);
    return performance.now() - began;
  };

  const first = await Promise.all([timed(), timed(), timed()]);
  const next = await Promise.race([callOf(shared), limiter.take(tokenOf(1), view)]);

  expect(Math.max(...first)).toBeGreaterThan(patienceMs * 0.9);
  expect(next).toMatchObject({ allowed: true });
});

test("a refused flood causes no more calls to the server", async () => {
  await using valkey = await newValkey();
  const shared = await valkey.limits();
  const limiter = await valkey.process(shared);
  await times(11, () => limiter.take(tokenOf(1), view));
  valkey.pause();

  const state = await Promise.race([callOf(shared), limiter.take(tokenOf(1), view)]);

  expect(state).toMatchObject({ allowed: false });
  expect(limiter.refusal(tokenOf(1), view)).toMatchObject({ allowed: false });
  expect(limiter.refusal(tokenOf(2), view)).toBeUndefined();
});
