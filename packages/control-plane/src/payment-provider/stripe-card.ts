import type { Stripe } from "stripe";
import type { KeptCard } from "./provider.ts";

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
