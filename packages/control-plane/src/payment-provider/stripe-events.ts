import { Stripe } from "stripe";
import { type ChargeProvider, type KeptCard, NotFromProvider, type ProviderEvent } from "./provider.ts";
import { keptCardOf, outcomeOf, reasonOf } from "./stripe-client.ts";

export const createEventReader =
  (stripe: Stripe, secret: string): ChargeProvider["readEvent"] =>
  async (body, signature) => {
    const event = verified(stripe, body, signature ?? "", secret);
    const about = await meaningOf(stripe, event);
    return about === undefined ? undefined : { id: event.id, type: event.type, ...about };
  };

function verified(stripe: Stripe, body: Buffer, signature: string, secret: string): Stripe.Event {
  try {
    return stripe.webhooks.constructEvent(body, signature, secret);
  } catch {
    throw new NotFromProvider("The signature does not fit the body.");
  }
}

type Meaning = ProviderEvent extends infer Each
  ? Each extends ProviderEvent
    ? Omit<Each, "id" | "type">
    : never
  : never;

async function meaningOf(stripe: Stripe, { type, data }: Stripe.Event): Promise<Meaning | undefined> {
  if (type === "payment_intent.succeeded") {
    const charge = chargeOf(data.object.metadata, data.object.id);
    return charge && { of: "charge succeeded", ...charge, amountCents: data.object.amount_received };
  }
  if (type === "payment_intent.payment_failed" || type === "payment_intent.canceled") {
    const charge = chargeOf(data.object.metadata, data.object.id);
    return charge && { of: "charge declined", ...charge, reason: reasonOf(data.object.last_payment_error ?? {}) };
  }
  if (type === "charge.refunded") {
    const { metadata, payment_intent: intent, amount, amount_refunded } = data.object;
    const charge = chargeOf(metadata, idOf(intent));
    return charge && { of: "refund", ...charge, amountCents: amount, refundedCents: amount_refunded };
  }
  if (type === "checkout.session.completed") {
    const { metadata, mode, setup_intent: setup } = data.object;
    const accountUuid = metadata?.["account"];
    if (mode !== "setup" || setup === null || accountUuid === undefined) return undefined;
    const card = await cardOf(stripe, idOf(setup));
    return card && { of: "card added", accountUuid, card };
  }
  return undefined;
}

/** Undefined: a charge that was made at Stripe without an installation of ours. */
export function chargeOf(metadata: Stripe.Metadata, providerId: string) {
  const { charge = "", account: accountUuid, opened } = metadata;
  if (!/^\d{1,15}$/.test(charge) || accountUuid === undefined || opened === undefined || providerId === "")
    return undefined;
  return { chargeId: Number(charge), accountUuid, opened, providerId };
}

/** The event names the card without the details that are shown. */
async function cardOf(stripe: Stripe, setupIntent: string): Promise<KeptCard | undefined> {
  const { customer, payment_method: method } = await stripe.setupIntents
    .retrieve(setupIntent, { expand: ["payment_method"] })
    .catch((error: unknown) => {
      throw outcomeOf(error);
    });
  if (method === null || typeof method === "string" || customer === null) return undefined;
  return keptCardOf(idOf(customer), method);
}

export const idOf = (object: string | { id: string } | null): string =>
  object === null ? "" : typeof object === "string" ? object : object.id;
