import { Stripe } from "stripe";
import { expect, test } from "vitest";
import { Declined, OutcomeUnknown } from "./provider.ts";
import { outcomeOf } from "./stripe-client.ts";

const errorOf = (statusCode: number, type: string, code?: string) =>
  Stripe.errors.generateV1Error({ statusCode, type, ...(code !== undefined && { code }), message: "of 4242" } as never);

test.each([
  ["a declined card", errorOf(402, "card_error", "card_declined"), Declined],
  ["a card that is not there", errorOf(404, "invalid_request_error", "resource_missing"), Declined],
  ["an amount that is too small", errorOf(400, "invalid_request_error", "amount_too_small"), Declined],
  ["a key that is in use", errorOf(409, "invalid_request_error", "idempotency_key_in_use"), OutcomeUnknown],
  ["a key of another request", errorOf(400, "idempotency_error"), OutcomeUnknown],
  ["too many requests", errorOf(429, "rate_limit_error", "lock_timeout"), OutcomeUnknown],
  ["a key of ours that is not valid", errorOf(401, "authentication_error"), OutcomeUnknown],
  ["a key of ours that may not", errorOf(403, "invalid_request_error"), OutcomeUnknown],
  ["an error of Stripe", errorOf(500, "api_error"), OutcomeUnknown],
  [
    "no connection",
    new Stripe.errors.StripeConnectionError({ type: "api_error", message: "" } as never),
    OutcomeUnknown,
  ],
  ["a fault of ours", new TypeError("x is not a function"), OutcomeUnknown],
])("%s: only what Stripe has certainly decided is declined", (_what, error, kind) => {
  const outcome = outcomeOf(error);
  expect(outcome).toBeInstanceOf(kind);
  expect(outcome.message).not.toContain("4242");
});
