import { describe, intervalMs, type Limit, type RateState, waitMs } from "./gcra.ts";

/** More callers than this at one time are a distributed flood, which must not fill the memory. */
const MOST_KEYS = 50_000;

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
