import type { FastifyReply, FastifyRequest } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { callerOf } from "./caller.ts";
import { applyRate } from "./rate-headers.ts";
import type { RateLimiter } from "./rate-limiter.ts";

type Limited = Parameters<RateLimiter["take"]>[1];

/**
 * Finds out who calls, and takes the request from that caller's budget: a token's own, or the address's when there is
 * none. Wrong tokens spend a budget of their address that, once empty, lets no token of it be looked up: a flood of
 * guesses ends in memory, and a right guess among them is not told.
 */
export async function identifyWithinLimits<Who extends { tokenId: number } | undefined>(
  limiter: RateLimiter,
  operation: Limited,
  request: FastifyRequest,
  reply: FastifyReply,
  identify: () => Promise<Who>,
): Promise<Who> {
  const hasToken = request.headers.authorization !== undefined;
  const nobody = hasToken ? callerOf.guess(request.ip) : callerOf.anonymous(request.ip);
  const refusal = hasToken ? limiter.refusal(nobody, operation) : undefined;
  if (refusal !== undefined) applyRate(reply, refusal);
  let who: Who;
  try {
    who = await identify();
  } catch (error) {
    if (error instanceof DomainError && error.kind === "unauthorized")
      applyRate(reply, await limiter.take(nobody, operation));
    throw error;
  }
  applyRate(reply, await limiter.take(who === undefined ? nobody : callerOf.token(who.tokenId), operation));
  return who;
}
