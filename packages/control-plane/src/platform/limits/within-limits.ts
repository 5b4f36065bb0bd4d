import type { FastifyReply, FastifyRequest } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { callerOf } from "./caller.ts";
import { applyRate } from "./rate-headers.ts";
import type { RateLimiter } from "./rate-limiter.ts";

type Limited = Parameters<RateLimiter["take"]>[1];

/**
 * Identifies the caller and charges the request to its budget: the token's own, or the address's when there is no
 * token. Wrong tokens spend another budget of their address; once it is empty, no token from that address is looked up.
 * A flood of guesses then costs memory only, and does not reveal a right guess.
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
