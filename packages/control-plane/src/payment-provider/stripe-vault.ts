import { Stripe } from "stripe";
import { type CardHolder, type CardVault, Declined, type KeptCard, OutcomeUnknown } from "./provider.ts";
import { keptCardOf } from "./stripe-card.ts";
import { customerOf } from "./stripe-customer.ts";
import { reasonOf } from "./stripe-errors.ts";

/**
 * Cards at Stripe. A card is kept in three calls, each done once by its key: the customer, the card, and the intent to
 * charge it later, which asks the bank. That is where most declines come from.
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
  if (status !== "succeeded") throw new Declined(CONFIRM);
}

/** A bank's question to the holder needs a browser. */
const CONFIRM =
  "The card's bank wants its holder to confirm it, which needs a browser. Add it on the payment provider's own page: POST /v4/account/payment-methods/link gives its address.";

function keptOf(customer: string, method: Stripe.PaymentMethod): KeptCard {
  const kept = keptCardOf(customer, method);
  if (kept === undefined) throw new OutcomeUnknown("a payment method that is no card");
  return kept;
}

/**
 * The words of the error are left behind: nobody has promised that they do not repeat what was sent. A request that
 * Stripe does not understand is a fault of ours or of the operator's settings there, and no word about the card.
 */
function outcomeOfCard(error: unknown): Declined | OutcomeUnknown {
  if (error instanceof Stripe.errors.StripeCardError) return new Declined(reasonOf(error));
  if (error instanceof Stripe.errors.StripeIdempotencyError)
    return new Declined("This Idempotency-Key was sent before with another card. Send a new key with a new card.");
  if (!(error instanceof Stripe.errors.StripeError))
    return new OutcomeUnknown(error instanceof Error ? error.name : "an unknown error");
  return new OutcomeUnknown([error.type, error.statusCode, error.code].filter((part) => part !== undefined).join(" "));
}
