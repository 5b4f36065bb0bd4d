import { describe, intervalMs, type Limit, type RateState, waitMs } from "./gcra.ts";

/** More callers than this in one process at one time are a flood from everywhere, which no memory should follow. */
const MOST_KEYS = 50_000;

/** What everybody has surely spent: what the shared server said last, and what this process gave out without it. */
export function createLocalLimits(now: () => number, mostKeys = MOST_KEYS) {
  const spentUntil = new Map<string, number>();
  const aheadOf = (key: string): number => Math.max(0, (spentUntil.get(key) ?? 0) - now());

  const learn = (keys: readonly string[], aheadMs: readonly number[]): void => {
    for (const [at, key] of keys.entries()) {
      // Written anew it is the youngest, and the first in the map is the one that was longest away.
      spentUntil.delete(key);
      spentUntil.set(key, now() + (aheadMs[at] ?? 0));
    }
    for (const key of spentUntil.keys()) {
      if (spentUntil.size <= mostKeys) break;
      spentUntil.delete(key);
    }
  };

  /** The answer to a caller who has surely nothing left, or nothing: then somebody must be asked. */
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
    /** Gives so much time back to each of those that are known here. */
    refund(keys: readonly string[], ms: readonly number[]): void {
      for (const [at, key] of keys.entries()) {
        const until = spentUntil.get(key);
        if (until !== undefined) spentUntil.set(key, until - (ms[at] ?? 0));
      }
    },
  };
}
