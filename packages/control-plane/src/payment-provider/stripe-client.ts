import type { Text } from "@moorage/contract/texts";
import { Stripe } from "stripe";
import { type CardHolder, Declined, type KeptCard, OutcomeUnknown } from "./provider.ts";
import { texts } from "./texts.ts";

/** A caller waits for the answer: a slower call is retried later with its key. */
const TIMEOUT_MS = 15_000;

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

/** Brands as people know them. */
const brands: Record<string, string> = {
  amex: "American Express",
  cartes_bancaires: "Cartes Bancaires",
  diners: "Diners Club",
  discover: "Discover",
  jcb: "JCB",
  mastercard: "MasterCard",
  unionpay: "UnionPay",
  visa: "Visa",
};

type StripeSettings = { key: string; url?: string | undefined; timeoutMs?: number };

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

/** The customer at Stripe that holds the account's cards. Its key ensures that two concurrent calls create one. */
export async function customerOf(
  stripe: Stripe,
  { customer, accountUuid }: Pick<CardHolder, "customer" | "accountUuid">,
): Promise<string> {
  if (customer !== null) return customer;
  const made = await stripe.customers.create(
    { metadata: { account: accountUuid } },
    { idempotencyKey: `customer-${accountUuid}` },
  );
  return made.id;
}

/** What may be stored of a card at Stripe. Undefined: the method is no card. */
export function keptCardOf(customer: string, { id, card }: Stripe.PaymentMethod): KeptCard | undefined {
  if (card === undefined) return undefined;
  return {
    customer,
    token: id,
    cardType: brands[card.brand] ?? card.brand,
    lastFour: card.last4,
    expiryMonth: card.exp_month,
    expiryYear: card.exp_year,
  };
}

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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** For the tenant. */
export const reasonOf = ({ decline_code: decline = "", code = "" }: { decline_code?: string; code?: string }): Text =>
  (reasons[decline] ?? reasons[code] ?? texts.declined)();
