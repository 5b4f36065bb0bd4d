import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("account", {
  /** Refusals of a cancellation. */
  cancelWithoutPaymentMethod: text(
    ({ amount }: { amount: string }) =>
      `The account owes ${amount} and has no payment method to charge. Add one with POST /v4/account/payment-methods, then cancel again.`,
    { amount: "$3.00" },
  ),
  cancelChargeDeclined: text(
    ({ amount, why }: { amount: string; why: string }) =>
      `The charge of ${amount} that the account owes failed: ${why} The account is not canceled, and nothing has changed.`,
    { amount: "$3.00", why: "The card has expired. Add a card that is valid." },
  ),
  /** The reason of a declined charge that has none. */
  cardDeclined: text(() => "the card was declined. Ask the card's bank why, or add another payment method."),
  cancelChargeUnconfirmed: text(
    ({ amount }: { amount: string }) =>
      `The payment provider has not confirmed the charge of ${amount} yet. The account stays open until the provider answers: if the charge succeeded, the account is closed then; otherwise nothing changes. The amount is charged at most once.`,
    { amount: "$3.00" },
  ),
  availabilityHidden: text(
    () => "Unauthorized: this account may not list what is available in each region. Ask the operator for access.",
  ),
  /** These complete "<field> must be a valid value: …". */
  countryUnknown: text(() => "a two-letter country code of ISO 3166-1, such as DE"),
  stateUnknownUs: text(
    () => "for an address in US, the two-letter code of a state or territory, such as NY, or AA, AE or AP",
  ),
  stateUnknownCa: text(() => "for an address in CA, the two-letter code of a province or territory, such as ON"),
  zipMalformedUs: text(
    () => "for an address in US, five digits, or five digits, a hyphen and four digits, such as 10001 or 10001-2345",
  ),
  /** For the operator. */
  notFound: text(
    ({ accountId }: { accountId: number }) => `No account has the id ${accountId}. See: moorage admin account list`,
    { accountId: 12 },
  ),
  notClosed: text(
    ({ accountId }: { accountId: number }) => `Account ${accountId} is not closed, so there is nothing to reopen.`,
    { accountId: 12 },
  ),
  dataBeingDeleted: text(
    ({ accountId }: { accountId: number }) =>
      `The data of account ${accountId} are being deleted: their retention has ended. Reopen the account when the deletion is done; the account is empty then.`,
    { accountId: 12 },
  ),
});
