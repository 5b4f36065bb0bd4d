import type { Log } from "#platform/log.ts";
import { describe, type Limit, type RateState } from "./gcra.ts";
import { createLocalLimits } from "./local-limits.ts";
import type { SharedLimits } from "./shared-limits.ts";

/** A server that failed to answer is not called for this long: a request waits for it at most once. */
const REST_MS = 1000;

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
