import { Stripe } from "stripe";

export type StripeSettings = { key: string; url?: string | undefined; timeoutMs?: number };

/** A caller waits for the answer: a slower call is retried later with its key. */
const TIMEOUT_MS = 15_000;

/**
 * Stripe's client. It retries only a call whose connection was closed, with the same key; all other retries are ours.
 * It sends no telemetry to Stripe.
 */
export function createStripe({ key, url, timeoutMs = TIMEOUT_MS }: StripeSettings): Stripe {
  const at = url === undefined ? undefined : new URL(url);
  return new Stripe(key, {
    ...(at !== undefined && {
      host: at.hostname,
      port: at.port === "" ? (at.protocol === "http:" ? 80 : 443) : at.port,
      protocol: at.protocol === "http:" ? ("http" as const) : ("https" as const),
    }),
    timeout: timeoutMs,
    maxNetworkRetries: 0,
    telemetry: false,
  });
}
