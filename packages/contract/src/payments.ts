import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Empty, Id, page, Timestamp } from "./wire.ts";

const NUMBER = "14 to 24 digits, without spaces or hyphens";
const CVV = "3 or 4 digits";
const MONTH = "a whole number from 1 to 12";
const YEAR = "a whole number of four digits, such as 2030";

/** Read only by the process `cards`, which checks whether the number is valid and the card has not expired. */
export const Card = z.object({
  card_number: z.string({ error: NUMBER }).regex(/^\d{14,24}$/, NUMBER),
  cvv: z.string({ error: CVV }).regex(/^\d{3,4}$/, CVV),
  expiry_month: z.int({ error: MONTH }).min(1, MONTH).max(12, MONTH),
  expiry_year: z.int({ error: YEAR }).min(1000, YEAR).max(9999, YEAR),
});
export type Card = z.output<typeof Card>;

export const PaymentMethod = z.object({
  id: z.int(),
  created: Timestamp,
  is_default: z.boolean(),
  type: z.literal("credit_card"),
  data: z.object({ card_type: z.string(), expiry: z.string(), last_four: z.string() }),
});
export type PaymentMethod = z.output<typeof PaymentMethod>;

export const NewPaymentMethod = z.object({
  type: z.literal("credit_card", { error: "credit_card" }),
  is_default: z.boolean({ error: "true or false" }),
  data: Card,
});

const method = z.object({ paymentMethodId: Id });
const view = { scopes: ["account:read_only"], grant: "account_read" } as const;
const change = { scopes: ["account:read_write"], grant: "account_write" } as const;

export const listPaymentMethods = defineOperation({
  id: "listPaymentMethods",
  summary: "List the payment methods of the account",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/payment-methods",
  access: view,
  paged: true,
  rate: "collection",
  reply: page(PaymentMethod),
});

export const addPaymentMethod = defineOperation({
  id: "addPaymentMethod",
  summary: "Add a payment method",
  tag: "Billing",
  method: "POST",
  path: "/v4/account/payment-methods",
  access: change,
  body: NewPaymentMethod,
  servedBy: "cards",
  rate: "single",
  emits: ["payment_method_add"],
  reply: Empty,
});

export const updateCreditCard = defineOperation({
  id: "updateCreditCard",
  summary: "Add a credit card and make it the default; better, add a payment method",
  deprecated: true,
  tag: "Billing",
  method: "POST",
  path: "/v4/account/credit-card",
  access: change,
  body: Card,
  servedBy: "cards",
  rate: "single",
  emits: ["credit_card_updated"],
  reply: Empty,
});

export const viewPaymentMethod = defineOperation({
  id: "viewPaymentMethod",
  summary: "View a payment method",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/payment-methods/:paymentMethodId",
  aliases: ["/v4/account/payment-method/:paymentMethodId"],
  access: view,
  params: method,
  rate: "single",
  reply: PaymentMethod,
});

export const deletePaymentMethod = defineOperation({
  id: "deletePaymentMethod",
  summary: "Remove a payment method that is not the default",
  tag: "Billing",
  method: "DELETE",
  path: "/v4/account/payment-methods/:paymentMethodId",
  // The interface requires no more of a token; the user must be allowed to change the account.
  access: { scopes: ["account:read_only"], grant: "account_write" },
  params: method,
  rate: "single",
  emits: ["account_update"],
  reply: Empty,
});

export const makePaymentMethodDefault = defineOperation({
  id: "makePaymentMethodDefault",
  summary: "Make a payment method the default",
  tag: "Billing",
  method: "POST",
  path: "/v4/account/payment-methods/:paymentMethodId/make-default",
  aliases: ["/v4/account/payment-methods/:paymentMethodId"],
  access: change,
  params: method,
  rate: "single",
  emits: ["account_update"],
  reply: Empty,
});

/** Adds a card on a page of the payment provider, without us seeing it. */
export const createPaymentMethodLink = defineOperation({
  id: "createPaymentMethodLink",
  summary: "Get a link to a page of the payment provider where a card can be added",
  tag: "Billing",
  method: "POST",
  path: "/v4/account/payment-methods/link",
  access: change,
  rate: "single",
  reply: z.object({ url: z.url() }),
});

export const Payment = z.object({ id: z.int(), date: Timestamp, usd: z.number() });
export type Payment = z.output<typeof Payment>;

const USD = "an amount in dollars such as 120.50";
const amount = z.string({ error: USD }).regex(/^\$?\d{1,9}(\.\d{1,2})?$/, USD);
export const NewPayment = z.object({
  // Also as a number: one client of this family sends it so.
  usd: z.union([amount, z.number().transform(String).pipe(amount)], { error: USD }),
  payment_method_id: z.int({ error: "the id of a payment method" }).positive("the id of a payment method").optional(),
});
export type NewPayment = z.output<typeof NewPayment>;

export const listPayments = defineOperation({
  id: "listPayments",
  summary: "List the payments of the account",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/payments",
  access: view,
  paged: true,
  filterable: { date: "date", usd: "number" },
  rate: "collection",
  reply: page(Payment),
});

export const createPayment = defineOperation({
  id: "createPayment",
  summary: "Pay: charge a payment method",
  tag: "Billing",
  method: "POST",
  path: "/v4/account/payments",
  access: change,
  body: NewPayment,
  // Clients may send the cvv along.
  servedBy: "cards",
  rate: "single",
  emits: ["payment_submitted", "payment_method_add"],
  reply: Payment,
});

export const viewPayment = defineOperation({
  id: "viewPayment",
  summary: "View a payment",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/payments/:paymentId",
  access: view,
  params: z.object({ paymentId: Id }),
  rate: "single",
  reply: Payment,
});
