import type { Stripe } from "stripe";
import { type Charged, type ChargeProvider, Declined, OutcomeUnknown, type ProviderCharge } from "./provider.ts";
import { listMadeSince } from "./stripe-charge-list.ts";
import { customerOf, outcomeOf, reasonOf } from "./stripe-client.ts";
import { createEventReader } from "./stripe-events.ts";

type Settings = {
  stripe: Stripe;
  webhookSecret: string;
  /** Where the browser is redirected once the card is added. */
  returnUrl: string;
};

/** Charges through Stripe: each charge is a PaymentIntent with our reference in its metadata. */
export function createStripeCharges({ stripe, webhookSecret, returnUrl }: Settings): ChargeProvider {
  const decide = (intent: Stripe.PaymentIntent) => decided(stripe, intent);
  return {
    charge: (charge, key) =>
      known(async () =>
        decide(
          await stripe.paymentIntents.create(
            {
              amount: charge.amountCents,
              currency: "usd",
              customer: charge.customer,
              payment_method: charge.token,
              allowed_payment_method_types: ["card"],
              description: charge.description,
              metadata: { ...metadataOf(charge), ...(charge.request !== undefined && { request: charge.request }) },
              // Nobody is present to complete the bank's authentication.
              off_session: true,
              confirm: true,
            },
            { idempotencyKey: key },
          ),
        ),
      ),

    async find(charge) {
      const intent = await intentOf(stripe, charge).catch((error: unknown) => {
        // An error of the list call says nothing about the charge.
        throw new OutcomeUnknown(outcomeOf(error).message);
      });
      return intent === undefined ? undefined : known(() => decide(intent));
    },

    listSince: (since) =>
      listMadeSince(stripe, since).catch((error: unknown) => {
        throw new OutcomeUnknown(outcomeOf(error).message);
      }),

    async forget(token) {
      await known(() => stripe.paymentMethods.detach(token)).catch((error: unknown) => {
        // A card that does not exist, or is already detached, is as good as deleted.
        if (!(error instanceof Declined)) throw error;
      });
    },

    linkToAddCard: (holder) =>
      known(async () => {
        const customer = await customerOf(stripe, holder);
        const session = await stripe.checkout.sessions.create({
          mode: "setup",
          currency: "usd",
          customer,
          allowed_payment_method_types: ["card"],
          metadata: { account: holder.accountUuid },
          success_url: returnUrl,
          cancel_url: returnUrl,
        });
        if (session.url === null) throw new OutcomeUnknown("a session without an address");
        return { url: session.url, customer };
      }),

    readEvent: createEventReader(stripe, webhookSecret),
  };
}

const metadataOf = ({ chargeId, accountUuid, opened }: ProviderCharge) => ({
  charge: String(chargeId),
  account: accountUuid,
  opened,
});

/** Stripe's search lags by minutes; its list does not. */
async function intentOf(stripe: Stripe, charge: ProviderCharge): Promise<Stripe.PaymentIntent | undefined> {
  for await (const intent of stripe.paymentIntents.list({ customer: charge.customer, limit: 100 }))
    if (isOf(intent, charge)) return intent;
  return undefined;
}

const isOf = ({ metadata }: Stripe.PaymentIntent, charge: ProviderCharge): boolean =>
  Object.entries(metadataOf(charge)).every(([name, value]) => metadata[name] === value);

/** Cancels an intent that waits for the holder: nobody will respond, and it must not charge later. */
async function decided(stripe: Stripe, intent: Stripe.PaymentIntent): Promise<Charged> {
  if (intent.status === "succeeded") return { providerId: intent.id };
  if (intent.status === "processing") throw new OutcomeUnknown("processing");
  if (intent.status !== "canceled" && intent.last_payment_error === null)
    await stripe.paymentIntents.cancel(intent.id).catch((error: unknown) => {
      throw new OutcomeUnknown(`an intent that ${intent.status} and could not be ended: ${outcomeOf(error).message}`);
    });
  throw new Declined(reasonOf(intent.last_payment_error ?? {}));
}

async function known<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof Declined || error instanceof OutcomeUnknown ? error : outcomeOf(error);
  }
}
