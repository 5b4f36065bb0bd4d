import { defineTexts, text } from "@moorage/contract/texts";

const TO_PAY_NOW = "Pay with POST /v4/account/payments, or make another payment method the default.";

export const texts = defineTexts("payment", {
  noProvider: text(() => "This installation accepts no cards: its operator has configured no payment provider."),
  /** Completes "usd must be a valid value: …". */
  amountOutOfRange: text(({ least, most }: { least: string; most: string }) => `an amount from ${least} to ${most}`, {
    least: "$5.00",
    most: "$2,000.00",
  }),
  inProgress: text(
    ({ amount }: { amount: string }) =>
      `A payment of ${amount} is in progress for this account. Wait until it is settled: GET /v4/account/payments lists it then.`,
    { amount: "$10.00" },
  ),
  declined: text(() => "The payment was declined. Ask the card's bank why, or use another payment method."),
  /** `reason` is the stored reason of the charge: whole sentences. */
  declinedBecause: text(({ reason }: { reason: string }) => reason, {
    reason: "The card has expired. Add a card that is valid.",
  }),
  unconfirmed: text(
    ({ amount }: { amount: string }) =>
      `The payment provider has not confirmed the payment of ${amount} yet. The payment is checked until the provider answers, and is charged at most once: see GET /v4/account/payments, or send the same request with the same Idempotency-Key.`,
    { amount: "$10.00" },
  ),
  chargesNotComparedYet: text(
    () =>
      "The control plane's database was restarted, and its charges are being compared with those of the payment provider. Nothing was charged. Try again in two minutes.",
  ),
  providerUnreachable: text(() => "The payment provider does not answer. Nothing was charged. Retry in a moment."),

  methodMissing: text(() => "The account has no payment method. Add one with POST /v4/account/payment-methods."),
  /** Completes "payment_method_id must be a valid value: …". */
  methodUnknown: text(() => "the id of one of your payment methods: see GET /v4/account/payment-methods"),
  methodIsDefault: text(
    () => "The default payment method cannot be removed. Make another payment method the default first.",
  ),
  methodLimitReached: text(
    ({ most }: { most: number }) =>
      `Limit reached: at most ${most} payment methods per account. Remove one that is not the default first: DELETE /v4/account/payment-methods/{id}.`,
    { most: 6 },
  ),

  cardNumbersNotAccepted: text(
    () =>
      "This installation does not accept card numbers. Add the card on the payment provider's page: POST /v4/account/payment-methods/link returns its address.",
  ),
  zipMissing: text(
    () => "The account's billing address has no zip. Set the billing address with PUT /v4/account first.",
  ),
  zipNotUs: text(
    () => "The account's zip must be a US zip code, such as 10001. Set the billing address with PUT /v4/account first.",
  ),
  cardsPerDayReached: text(
    ({ most }: { most: number }) =>
      `Limit reached: at most ${most} cards per account can be added in 24 hours. Add this card later.`,
    { most: 3 },
  ),
  declinedCardsPerDayReached: text(
    ({ most }: { most: number }) =>
      `Limit reached: ${most} cards of this account were declined in 24 hours. Add a card later.`,
    { most: 3 },
  ),
  linkUnavailable: text(() => "The payment provider does not answer. Request the link again in a moment."),

  /** Answers to `cards` and to the payment provider, not to tenants. */
  admissionKeyWrong: text(() => "Not found"),
  eventSignatureInvalid: text(() => "The signature is not the payment provider's, or it is too old."),
  eventUnavailable: text(
    () => "The payment provider did not answer a request for the details of this event. Send the event again.",
  ),

  /** The notification about an invoice that could not be charged. */
  autopayDeclinedLabel: text(() => "Payment declined"),
  autopayDeclined: text(
    ({ amount, why, on }: { amount: string; why: string; on: string }) =>
      `${amount} could not be charged: ${why} The charge is tried again on ${on} with the default payment method. ${TO_PAY_NOW}`,
    { amount: "$12.50", why: "The card has expired. Add a card that is valid.", on: "2027-01-06" },
  ),
  autopayGivenUp: text(
    ({ amount, why }: { amount: string; why: string }) =>
      `${amount} could not be charged: ${why} The charge is not tried again. ${TO_PAY_NOW}`,
    { amount: "$12.50", why: "The card has expired. Add a card that is valid." },
  ),
});
