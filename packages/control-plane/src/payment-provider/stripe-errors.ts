import { Stripe } from "stripe";
import type { Text } from "@moorage/contract/texts";
import { Declined, OutcomeUnknown } from "./provider.ts";
import { texts } from "./texts.ts";

/** Advice by Stripe's codes; the bank's exact reason is not for everybody who may pay. */
const reasons: Record<string, () => Text> = {
  expired_card: texts.expired,
  incorrect_cvc: texts.cvvWrong,
  invalid_cvc: texts.cvvWrong,
  incorrect_number: texts.numberWrong,
  invalid_number: texts.numberWrong,
  incorrect_zip: texts.zipMismatch,
  insufficient_funds: texts.insufficientFunds,
  authentication_required: texts.confirmationRequired,
  card_not_supported: texts.paymentNotSupported,
  currency_not_supported: texts.currencyNotSupported,
  processing_error: texts.processingFailed,
  amount_too_small: texts.amountTooSmall,
};

/**
 * The outcome of a call that threw. `Declined` only if Stripe has certainly decided: in every other case, including our
 * own errors in the request, the outcome is unknown. The error itself is dropped: it contains what was sent.
 */
export function outcomeOf(error: unknown): Declined | OutcomeUnknown {
  if (!(error instanceof Stripe.errors.StripeError)) return new OutcomeUnknown(messageOf(error));
  const { code = "", statusCode = 0 } = error;
  if (error instanceof Stripe.errors.StripeCardError) return new Declined(reasonOf(error));
  if (error instanceof Stripe.errors.StripeInvalidRequestError && (statusCode === 400 || statusCode === 404))
    return new Declined((reasons[code] ?? texts.notChargeable)());
  return new OutcomeUnknown(`${error.type} ${statusCode} ${code}`.trim());
}

/** For the tenant. */
export const reasonOf = ({ decline_code: decline = "", code = "" }: { decline_code?: string; code?: string }): Text =>
  (reasons[decline] ?? reasons[code] ?? texts.declined)();

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
