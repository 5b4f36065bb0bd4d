import type { Stripe } from "stripe";
import type { KeptCard } from "./provider.ts";

/** As people know them. */
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

/** What we may know of a card that Stripe keeps. Undefined: it is no card. */
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
