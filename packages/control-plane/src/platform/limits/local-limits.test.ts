import fc from "fast-check";
import { expect, test } from "vitest";
import type { Limit } from "./gcra.ts";
import { createLocalLimits } from "./rate-limiter.ts";

const perMinute: Limit = { requests: 4, perSeconds: 60 };
const perHour: Limit = { requests: 6, perSeconds: 3600 };

const limitsAt = (start: number, mostKeys?: number) => {
  const time = { now: start };
  return { time, local: createLocalLimits(() => time.now, mostKeys) };
};

test("a whole budget may be spent at once, and is refilled one by one", () => {
  const { time, local } = limitsAt(1_000_000);
  const take = () => local.take(["a"], [perMinute]);

  expect([take(), take(), take(), take()].map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 3],
    [true, 2],
    [true, 1],
    [true, 0],
  ]);
  expect(take()).toEqual({ allowed: false, limit: 4, remaining: 0, resetAt: new Date(1_060_000), retryAfter: 15 });
  time.now += 14_999;
  expect(take()).toMatchObject({ allowed: false, retryAfter: 1 });
  time.now += 1;
  expect(take()).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0 });
});

test("a request refused by one limit is charged to none", () => {
  const { time, local } = limitsAt(0);
  const both = () => local.take(["overall", "operation"], [perHour, perMinute]);
  for (let n = 0; n < 4; n++) both();
  for (let n = 0; n < 20; n++) expect(both()).toMatchObject({ allowed: false, limit: 4 });

  time.now += 60_000;

  expect(both()).toMatchObject({ allowed: true, limit: 6, remaining: 1 });
});

test("memory is bounded: the caller seen longest ago is dropped", () => {
  const { local } = limitsAt(0, 2);
  const spend = (key: string) => [1, 2, 3, 4].forEach(() => local.take([key], [perMinute]));
  spend("a");
  spend("b");
  local.take(["c"], [perMinute]);

  expect(local.refusal(["a"], [perMinute])).toBeUndefined();
  expect(local.refusal(["b"], [perMinute])).toBeDefined();
});

test("at any rhythm: at most two budgets per period, and after Retry-After the next request passes", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }), (pauses) => {
      const { time, local } = limitsAt(0);
      const passed: number[] = [];
      for (const pause of pauses) {
        time.now += pause;
        const { allowed, retryAfter } = local.take(["a"], [perMinute]);
        time.now += retryAfter * 1000;
        expect(allowed || local.take(["a"], [perMinute]).allowed).toBe(true);
        passed.push(time.now);
      }
      for (const from of passed)
        expect(passed.filter((at) => at >= from && at < from + 60_000).length).toBeLessThanOrEqual(7);
    }),
  );
});
