import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("billing", {
  /** The notification of an account that owes something. */
  paymentDueLabel: text(() => "Payment due"),
  paymentDue: text(
    ({ amount }: { amount: string }) =>
      `${amount} is due. Pay with POST /v4/account/payments, or add a payment method to the account.`,
    { amount: "$12.50" },
  ),
  /** For the operator. */
  adjustmentExists: text(
    ({ label }: { label: string }) =>
      `A line "${label}" with another amount exists and is not changed. Add the difference under another --label.`,
    { label: "Refund for an outage" },
  ),
  adjustmentAccountClosed: text(
    ({ accountId }: { accountId: number }) =>
      `Account ${accountId} is closed and gets no more invoices, so no line can be added. To return money, refund a payment at the payment provider.`,
    { accountId: 12 },
  ),
  creditExists: text(
    ({ accountId, summary }: { accountId: number; summary: string }) =>
      `Account ${accountId} has a credit "${summary}" with other terms, which is not changed. Grant the other credit under another --summary.`,
    { accountId: 12, summary: "Welcome" },
  ),
  /** Completes "<field> must be a valid value: …". */
  taxChangeTooEarly: text(
    ({ now }: { now: string }) =>
      `a time in the future, in UTC; it is now ${now}. To change the tax now, leave the field out`,
    { now: "2027-01-05T10:30:00" },
  ),
  taxNotInForce: text(
    ({ name, place }: { name: string; place: string }) =>
      `No tax ${name} of ${place} is in force. List the taxes with: moorage admin tax list`,
    { name: "VAT", place: "DE" },
  ),
});
