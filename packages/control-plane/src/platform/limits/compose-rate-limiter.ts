import { type Config, rateLimitsOf } from "#platform/config.ts";
import type { Log } from "#platform/log.ts";
import { createNoRateLimiter, createRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { createSharedLimits } from "./shared-limits.ts";

export function composeRateLimiter(config: Config, log: Log): RateLimiter & { close(): void } {
  const limits = rateLimitsOf(config);
  if (config.MOORAGE_RATE_LIMITS === "off") return { ...createNoRateLimiter(limits), close: () => {} };
  const shared = createSharedLimits(config.VALKEY_URL, log);
  return { ...createRateLimiter({ limits, shared, log }), close: shared.close };
}
