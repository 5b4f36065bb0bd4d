import { defineTexts, text } from "@moorage/contract/texts";

/** Why the provider declined a card or a charge, for the tenant. */
export const texts = defineTexts("card", {
  expired: text(() => "The card has expired. Add a card that is valid."),
  cvvWrong: text(() => "The card's security code (cvv) is wrong. Add the card again."),
  numberWrong: text(() => "The card's number is wrong. Add the card again."),
  zipMismatch: text(
    () =>
      "The account's zip is not the one that the card's bank has on file. Correct the zip with PUT /v4/account, or use another card.",
  ),
  insufficientFunds: text(() => "The card has insufficient funds. Use another card."),
  confirmationRequired: text(
    () => "The card's bank requires its holder to confirm each payment, which is not possible here. Use another card.",
  ),
  confirmationNeedsBrowser: text(
    () =>
      "The card's bank requires its holder to confirm the card in a browser. Add the card on the payment provider's page: POST /v4/account/payment-methods/link returns its address.",
  ),
  paymentNotSupported: text(() => "The card does not support payments of this kind. Use another card."),
  currencyNotSupported: text(() => "The card does not support payments in US dollars. Use another card."),
  processingFailed: text(() => "The card could not be processed. Try again in a few minutes, or use another card."),
  amountTooSmall: text(() => "The amount is too small to be charged to a card."),
  declined: text(() => "The card was declined by its bank. Ask the bank why, or use another card."),
  notChargeable: text(() => "The card can no longer be charged. Add the card again, or use another card."),
  keyOfAnotherCard: text(
    () => "This Idempotency-Key was sent before with another card. Send a new key with a new card.",
  ),
});
