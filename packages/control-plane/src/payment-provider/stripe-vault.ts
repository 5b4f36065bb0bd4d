import { Stripe } from "stripe";
import { type CardHolder, type CardVault, Declined, type KeptCard, OutcomeUnknown } from "./provider.ts";
import { customerOf, keptCardOf, reasonOf } from "./stripe-client.ts";
import { texts } from "./texts.ts";

/**
 * Cards at Stripe. Storing a card takes three calls, each idempotent by its key: the customer, the card, and the
 * SetupIntent for later charges, which asks the bank. Most declines come from that one.
 */
export const createStripeVault = (stripe: Stripe): CardVault => ({
  async keep(card, holder, key) {
    try {
      const customer = await customerOf(stripe, holder);
      const method = await stripe.paymentMethods.create(
        {
          type: "card",
          card: {
            number: card.card_number,
            cvc: card.cvv,
            exp_month: card.expiry_month,
            exp_year: card.expiry_year,
          },
          billing_details: { address: addressOf(holder) },
        },
        { idempotencyKey: `${key}-card` },
      );
      await attach(stripe, customer, method.id, key);
      return keptOf(customer, method);
    } catch (error) {
      throw error instanceof Declined || error instanceof OutcomeUnknown ? error : outcomeOfCard(error);
    }
  },
});

const addressOf = ({ zip, country }: CardHolder) => ({ postal_code: zip, ...(country !== "" && { country }) });

async function attach(stripe: Stripe, customer: string, method: string, key: string): Promise<void> {
  const { status } = await stripe.setupIntents.create(
    {
      customer,
      payment_method: method,
      allowed_payment_method_types: ["card"],
      usage: "off_session",
      confirm: true,
    },
    { idempotencyKey: `${key}-intent` },
  );
  if (status === "processing") throw new OutcomeUnknown("a card whose bank has not answered yet");
  if (status !== "succeeded") throw new Declined(texts.confirmationNeedsBrowser());
}

function keptOf(customer: string, method: Stripe.PaymentMethod): KeptCard {
  const kept = keptCardOf(customer, method);
  if (kept === undefined) throw new OutcomeUnknown("a payment method that is no card");
  return kept;
}

/**
 * Drops the error's message, which may repeat what was sent. A request that Stripe does not understand is our bug or a
 * wrong setting of the operator, and says nothing about the card.
 */
function outcomeOfCard(error: unknown): Declined | OutcomeUnknown {
  if (error instanceof Stripe.errors.StripeCardError) return new Declined(reasonOf(error));
  if (error instanceof Stripe.errors.StripeIdempotencyError) return new Declined(texts.keyOfAnotherCard());
  if (!(error instanceof Stripe.errors.StripeError))
    return new OutcomeUnknown(error instanceof Error ? error.name : "an unknown error");
  return new OutcomeUnknown([error.type, error.statusCode, error.code].filter((part) => part !== undefined).join(" "));
}
