import type { RateClass } from "@moorage/contract";
import type { Log } from "#platform/log.ts";
import { createBudgets } from "./budgets.ts";
import { type Limit, type RateState, describe } from "./gcra.ts";
import type { SharedLimits } from "./shared-limits.ts";

export type RateLimits = Record<RateClass | "overall", Limit>;
type Limited = { id: string; rate: RateClass };

export type RateLimiter = {
  take(caller: string, operation: Limited): Promise<RateState>;
  /** The refusal of a caller that this process knows to have nothing left, without a round trip. */
  refusal(caller: string, operation: Limited): RateState | undefined;
};

/** Limits that all processes share: see `createBudgets`. */
export function createRateLimiter(deps: {
  limits: RateLimits;
  shared: SharedLimits;
  log: Log;
  now?: () => number;
}): RateLimiter {
  const { limits } = deps;
  const budgets = createBudgets(deps);
  const cellsOf = (caller: string, { id, rate }: Limited) => ({
    // The part in braces decides the server in a Valkey cluster, so that both keys of one caller are on one server.
    keys: [`{${caller}}`, `{${caller}}:${id}`],
    each: [limits.overall, limits[rate]],
  });
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

/** For tests and benchmarks of something else. */
export const createNoRateLimiter = (limits: RateLimits): RateLimiter => ({
  refusal: () => undefined,
  take: async (_caller, { rate }) => describe([limits[rate]], [0], true, Date.now()),
});
