import { Stripe } from "stripe";
import { Declined, OutcomeUnknown } from "./provider.ts";

/** Advice by Stripe's codes; the bank's exact reason is not for everybody who may pay. */
const sentences: Record<string, string> = {
  expired_card: "The card has expired. Add a card that is valid.",
  incorrect_cvc: "The card's security code (cvv) is not right. Add the card again.",
  invalid_cvc: "The card's security code (cvv) is not right. Add the card again.",
  incorrect_number: "The card's number is not right. Add the card again.",
  invalid_number: "The card's number is not right. Add the card again.",
  incorrect_zip: "The card's bank knows another zip. Correct the zip of the account, or use another card.",
  insufficient_funds: "The card has not enough money. Use another card.",
  authentication_required:
    "The card's bank wants its holder to confirm each payment, which is not possible here. Use another card.",
  card_not_supported: "The card does not take payments of this kind. Use another card.",
  currency_not_supported: "The card does not take payments in US dollars. Use another card.",
  processing_error: "The card could not be reached just now. Try again in a few minutes, or use another card.",
  amount_too_small: "The amount is too small to be charged to a card.",
};
const OTHERWISE = "The card was declined by its bank. Ask the bank why, or use another card.";
const REFUSED = "The card cannot be charged any more. Add it again, or use another one.";

/**
 * The outcome of a call that threw. `Declined` only if Stripe has certainly decided: in every other case, including our
 * own errors in the request, the outcome is unknown. The error itself is dropped: it contains what was sent.
 */
export function outcomeOf(error: unknown): Declined | OutcomeUnknown {
  if (!(error instanceof Stripe.errors.StripeError)) return new OutcomeUnknown(messageOf(error));
  const { code = "", statusCode = 0 } = error;
  if (error instanceof Stripe.errors.StripeCardError) return new Declined(reasonOf(error));
  if (error instanceof Stripe.errors.StripeInvalidRequestError && (statusCode === 400 || statusCode === 404))
    return new Declined(sentences[code] ?? REFUSED);
  return new OutcomeUnknown(`${error.type} ${statusCode} ${code}`.trim());
}

/** For the tenant. */
export const reasonOf = ({ decline_code: decline = "", code = "" }: { decline_code?: string; code?: string }): string =>
  sentences[decline] ?? sentences[code] ?? OTHERWISE;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
