import type { RateClass } from "@moorage/contract";
import type { Log } from "#platform/log.ts";
import { type Limit, type RateState, describe } from "./gcra.ts";
import { createLocalLimits } from "./local-limits.ts";
import type { SharedLimits } from "./shared-limits.ts";

export type RateLimits = Record<RateClass | "overall", Limit>;
type Limited = { id: string; rate: RateClass };

export type RateLimiter = {
  take(caller: string, operation: Limited): Promise<RateState>;
  /** The refusal of a caller whom this process knows to have nothing left; asks nobody. */
  refusal(caller: string, operation: Limited): RateState | undefined;
};

/** A server that failed to answer is not asked again for so long: a request waits for it at most once. */
const REST_MS = 1000;

/**
 * Limits that all processes share. A refusal is remembered, so that a flood costs no round trip; and while the shared
 * server is away, each process holds everybody to the same figures by itself, from what it last knew.
 */
export function createRateLimiter(deps: {
  limits: RateLimits;
  shared: SharedLimits;
  log: Log;
  now?: () => number;
}): RateLimiter {
  const { limits, shared, log, now = Date.now } = deps;
  const local = createLocalLimits(now);
  let askAgainAt = 0;
  const cellsOf = (caller: string, { id, rate }: Limited) => ({
    // In braces: the part that a Valkey cluster places by, so that both keys of one caller are on one server.
    keys: [`{${caller}}`, `{${caller}}:${id}`],
    each: [limits.overall, limits[rate]],
  });
  return {
    refusal(caller, operation) {
      const { keys, each } = cellsOf(caller, operation);
      return local.refusal(keys, each);
    },
    async take(caller, operation) {
      const { keys, each } = cellsOf(caller, operation);
      const known = local.refusal(keys, each);
      if (known !== undefined) return known;
      if (now() < askAgainAt) return local.take(keys, each);
      try {
        const { allowed, aheadMs } = await shared.take(keys, each);
        local.learn(keys, aheadMs);
        return describe(each, aheadMs, allowed, now());
      } catch (error) {
        // Of many requests that waited together, one says so.
        if (now() >= askAgainAt) log.warn({ err: error }, "rate limits are not shared: each process counts by itself");
        askAgainAt = now() + REST_MS;
        return local.take(keys, each);
      }
    },
  };
}

/** For tests and benchmarks that are about something else. */
export const createNoRateLimiter = (limits: RateLimits): RateLimiter => ({
  refusal: () => undefined,
  take: async (_caller, { rate }) => describe([limits[rate]], [0], true, Date.now()),
});
