import { Stripe } from "stripe";

export type StripeSettings = { key: string; url?: string | undefined; timeoutMs?: number };

/** A caller waits for the answer: what takes longer is asked for again by its key, later. */
const TIMEOUT_MS = 15_000;

/**
 * Stripe's own client. It repeats nothing but a call whose connection was closed, and that with the same key: when to
 * ask again is ours to say. It tells Stripe nothing of how we use it.
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
