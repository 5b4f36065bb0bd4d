/** This many requests per period, in one burst if the caller likes, and then one every `perSeconds / requests`. */
export type Limit = { requests: number; perSeconds: number; sharedBy?: Group };

/** Callers that share a budget beside their own. */
export type Group = "account" | "network";

export const times = ({ requests, ...rest }: Limit, factor: number): Limit => ({
  ...rest,
  requests: Math.max(1, Math.round(requests * factor)),
});

export type RateState = {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** When the whole budget is available again. */
  resetAt: Date;
  /** Whole seconds; 0 when allowed. */
  retryAfter: number;
  /** Who shares the budget; undefined: it is the caller's own. */
  sharedBy?: Group;
};

/**
 * The generic cell rate algorithm stores one number per limit: how far ahead of now a caller has already spent. One
 * request spends one interval, and nobody may be ahead by more than the whole period.
 */
export const intervalMs = ({ requests, perSeconds }: Limit): number => (perSeconds * 1000) / requests;

export const waitMs = (limit: Limit, aheadMs: number): number => aheadMs + intervalMs(limit) - limit.perSeconds * 1000;

/** What the caller sees: of several limits the one with the least left, of several refusals the longest. */
export function describe(
  limits: readonly Limit[],
  aheadMs: readonly number[],
  allowed: boolean,
  now: number,
): RateState {
  const states = limits.map((limit, at) => {
    const ahead = aheadMs[at] ?? 0;
    return {
      allowed,
      limit: limit.requests,
      remaining: Math.max(0, Math.floor((limit.perSeconds * 1000 - ahead) / intervalMs(limit))),
      resetAt: new Date(now + ahead),
      retryAfter: allowed ? 0 : Math.max(1, Math.ceil(waitMs(limit, ahead) / 1000)),
      ...(limit.sharedBy === undefined ? {} : { sharedBy: limit.sharedBy }),
    };
  });
  return states.reduce((worst, state) =>
    state.remaining < worst.remaining || state.retryAfter > worst.retryAfter ? state : worst,
  );
}
