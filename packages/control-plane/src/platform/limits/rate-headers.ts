import type { FastifyReply } from "fastify";
import type { Text } from "@moorage/contract/texts";
import type { RateState } from "./gcra.ts";
import { texts } from "./texts.ts";

/** Sent with every response, and thrown when nothing is left. */
export class TooManyRequests extends Error {
  override readonly name = "TooManyRequests";
  readonly statusCode = 429;
  readonly reason: Text = texts.tooManyRequests();
  constructor() {
    super("Too many requests");
  }
}

export function applyRate(reply: FastifyReply, state: RateState): void {
  reply.header("x-ratelimit-limit", state.limit);
  reply.header("x-ratelimit-remaining", state.remaining);
  reply.header("x-ratelimit-reset", Math.ceil(state.resetAt.getTime() / 1000));
  if (state.allowed) return;
  reply.header("retry-after", state.retryAfter);
  throw new TooManyRequests();
}
