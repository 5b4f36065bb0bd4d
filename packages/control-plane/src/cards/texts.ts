import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("card", {
  numberInIdempotencyKey: text(() => "Idempotency-Key must not contain the card's number."),
  fieldNameInvalid: text(() => "The body has a field whose name is not valid text."),
  /** These complete "<field> must be a valid value: …". */
  numberInvalid: text(() => "the number of a card, with its check digit"),
  cvvLengthWrong: text(
    ({ digits, brand }: { digits: number; brand: string }) => `${digits} digits, for a card of ${brand}`,
    { digits: 4, brand: "American Express" },
  ),
  expiryInPast: text(() => "this month or later"),

  notAcceptedNow: text(() => "Cards are not accepted at the moment. Nothing was done. Retry in a moment."),
  noProvider: text(() => "This installation has no payment provider that stores cards."),
  providerUnreachable: text(
    () =>
      "The payment provider did not answer, and the card was not added. Retry in a moment; with the same Idempotency-Key the card cannot be added twice.",
  ),
  outcomeUnknown: text(
    () =>
      "It is not known whether the card was added. Check GET /v4/account/payment-methods before you send the card again; with the same Idempotency-Key it cannot be added twice.",
  ),
  paymentOutcomeUnknown: text(
    () =>
      "It is not known whether the payment was made. Check GET /v4/account/payments before you send the payment again; with the same Idempotency-Key it is not made twice.",
  ),
});
