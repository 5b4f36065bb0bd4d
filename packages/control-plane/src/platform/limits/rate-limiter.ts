import type { RateClass } from "@moorage/contract";
import type { SettingsOf } from "@moorage/contract/settings";
import type { Log } from "#platform/log.ts";
import type { Caller } from "./caller.ts";
import { describe, intervalMs, type Limit, type RateState, times, waitMs } from "./gcra.ts";
import { type RateLimits, type rateLimitSettings, rateLimitsOf, type valkeySettings } from "./settings.ts";
import { composeSharedLimits, type SharedLimits } from "./shared-limits.ts";

/** Budgets, up to four for a caller: more at one time are a distributed flood, which must not fill the memory. */
const MOST_KEYS = 100_000;

/** A server that failed to answer is not called for this long: a request waits for it at most once. */
const REST_MS = 1000;

type Limited = { id: string; rate: RateClass };

export type RateLimiter = {
  take(caller: Caller, operation: Limited): Promise<RateState>;
  /** The refusal of a caller that this process knows to have nothing left, without a round trip. */
  refusal(caller: Caller, operation: Limited): RateState | undefined;
};

type Config = SettingsOf<typeof valkeySettings & typeof rateLimitSettings>;

export function composeRateLimiter(config: Config, log: Log): RateLimiter & { close(): void } {
  const limits = rateLimitsOf(config);
  if (config.MOORAGE_RATE_LIMITS === "off") return { ...createNoRateLimiter(limits), close: () => {} };
  const shared = composeSharedLimits(config, log);
  return { ...createRateLimiter({ limits, shared, log }), close: shared.close };
}

/** For tests and benchmarks of something else. */
export const createNoRateLimiter = (limits: RateLimits): RateLimiter => ({
  refusal: () => undefined,
  take: async (_caller, { rate }) => describe([limits[rate]], [0], true, Date.now()),
});

/** Limits that all processes share: see `createBudgets`. */
export function createRateLimiter(deps: {
  limits: RateLimits;
  shared: SharedLimits;
  log: Log;
  now?: () => number;
}): RateLimiter {
  const { limits } = deps;
  const budgets = createBudgets(deps);
  const cellsOf = ({ own, group }: Caller, { id, rate }: Limited) => {
    // The part in braces decides the server in a Valkey cluster, so that all keys of a request are on one server.
    if (group === undefined) return { keys: [`{${own}}`, `{${own}}:${id}`], each: [limits.overall, limits[rate]] };
    const shared = (limit: Limit): Limit => ({ ...times(limit, limits.timesOf[group.kind]), sharedBy: group.kind });
    const all = `{${group.name}}`;
    return {
      keys: [`${all}/${own}`, `${all}/${own}:${id}`, all, `${all}:${id}`],
      each: [limits.overall, limits[rate], shared(limits.overall), shared(limits[rate])],
    };
  };
  return {
    refusal(caller, operation) {
      const { keys, each } = cellsOf(caller, operation);
      return budgets.refusal(keys, each);
    },
    take(caller, operation) {
      const { keys, each } = cellsOf(caller, operation);
      return budgets.take(keys, each);
    },
  };
}

/**
 * Budgets that all processes share. A refusal is remembered, so that a flood costs no round trip. While the shared
 * server is unreachable, each process applies the same limits by itself, from what it last knew.
 */
export function createBudgets(deps: { shared: SharedLimits; log: Log; now?: () => number }) {
  const { shared, log, now = Date.now } = deps;
  const local = createLocalLimits(now);
  let retryAt = 0;
  const failed = (error: unknown): void => {
    // Of many requests that waited together, one logs it.
    if (now() >= retryAt) log.warn({ err: error }, "rate limits are not shared: each process counts by itself");
    retryAt = now() + REST_MS;
  };
  return {
    refusal: local.refusal,
    async take(keys: readonly string[], limits: readonly Limit[]): Promise<RateState> {
      const known = local.refusal(keys, limits);
      if (known !== undefined) return known;
      if (now() < retryAt) return local.take(keys, limits);
      try {
        const { allowed, aheadMs } = await shared.take(keys, limits);
        local.learn(keys, aheadMs);
        return describe(limits, aheadMs, allowed, now());
      } catch (error) {
        failed(error);
        return local.take(keys, limits);
      }
    },
    /** Returns time to each budget; more than was spent counts as all of it. */
    async refund(keys: readonly string[], ms: readonly number[]): Promise<void> {
      local.refund(keys, ms);
      if (now() < retryAt) return;
      await shared.refund(keys, ms).catch(failed);
    },
  };
}
export type Budgets = ReturnType<typeof createBudgets>;

/**
 * What each caller has certainly spent: the last state of the shared server, and what this process granted without it.
 */
export function createLocalLimits(now: () => number, mostKeys = MOST_KEYS) {
  const spentUntil = new Map<string, number>();
  const aheadOf = (key: string): number => Math.max(0, (spentUntil.get(key) ?? 0) - now());

  const learn = (keys: readonly string[], aheadMs: readonly number[]): void => {
    for (const [at, key] of keys.entries()) {
      // Writing it again makes it the youngest; the first in the map is the one that called longest ago.
      spentUntil.delete(key);
      spentUntil.set(key, now() + (aheadMs[at] ?? 0));
    }
    for (const key of spentUntil.keys()) {
      if (spentUntil.size <= mostKeys) break;
      spentUntil.delete(key);
    }
  };

  /** The refusal of a caller that certainly has nothing left; undefined: the shared server must decide. */
  const refusal = (keys: readonly string[], limits: readonly Limit[]): RateState | undefined => {
    const ahead = keys.map(aheadOf);
    return limits.some((limit, at) => waitMs(limit, ahead[at] ?? 0) > 0)
      ? describe(limits, ahead, false, now())
      : undefined;
  };

  return {
    learn,
    refusal,
    take(keys: readonly string[], limits: readonly Limit[]): RateState {
      const refused = refusal(keys, limits);
      if (refused !== undefined) return refused;
      const ahead = limits.map((limit, at) => aheadOf(keys[at] ?? "") + intervalMs(limit));
      learn(keys, ahead);
      return describe(limits, ahead, true, now());
    },
    /** Returns time to each budget that is known here. */
    refund(keys: readonly string[], ms: readonly number[]): void {
      for (const [at, key] of keys.entries()) {
        const until = spentUntil.get(key);
        if (until !== undefined) spentUntil.set(key, until - (ms[at] ?? 0));
      }
    },
  };
}
