import type { Stripe } from "stripe";
import type { MadeCharge } from "./provider.ts";
import { keptCardOf } from "./stripe-client.ts";
import { chargeOf, idOf } from "./stripe-events.ts";

/** The card was not charged, and never will be: nobody but us confirms an intent, and that is done once. */
const NOT_CHARGED = new Set<string>(["canceled", "requires_payment_method", "requires_action"]);

export async function listMadeSince(stripe: Stripe, since: Date | undefined): Promise<MadeCharge[]> {
  const made: MadeCharge[] = [];
  const intents = stripe.paymentIntents.list({
    limit: 100,
    expand: ["data.latest_charge", "data.payment_method"],
    ...(since !== undefined && { created: { gte: Math.floor(since.getTime() / 1000) } }),
  });
  for await (const intent of intents) {
    const name = chargeOf(intent.metadata, intent.id);
    if (name !== undefined && !NOT_CHARGED.has(intent.status)) made.push({ ...name, ...stateOf(intent) });
  }
  return made;
}

function stateOf(intent: Stripe.PaymentIntent) {
  const { status, amount_received, customer, metadata, latest_charge, payment_method } = intent;
  const isExpanded = typeof payment_method === "object" && payment_method !== null;
  return {
    isProcessing: status !== "succeeded",
    amountCents: amount_received,
    refundedCents: typeof latest_charge === "object" ? (latest_charge?.amount_refunded ?? 0) : 0,
    card: isExpanded ? keptCardOf(idOf(customer), payment_method) : undefined,
    request: metadata["request"],
  };
}
