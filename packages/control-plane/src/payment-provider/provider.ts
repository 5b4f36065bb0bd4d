import type { Card } from "@moorage/contract";

/**
 * What we ask of a payment provider. Only the process `cards` holds a `CardVault`; the others know a card by its token.
 * Each call may be repeated with its key: the provider does it once.
 */
export type CardVault = {
  /** Throws `Declined`. Without a customer, one is made. */
  keep(card: Card, holder: CardHolder, key: string): Promise<KeptCard>;
};
export type CardHolder = { accountUuid: string; customer: string | null; zip: string; country: string };
export type KeptCard = {
  customer: string;
  token: string;
  cardType: string;
  lastFour: string;
  expiryMonth: number;
  expiryYear: number;
};

export type ChargeProvider = {
  /** Takes the money, or throws `Declined` or `OutcomeUnknown`. */
  charge(charge: ProviderCharge, key: string): Promise<Charged>;
  /** What became of a charge that was asked for before: as `charge`, but it takes nothing. Undefined: it never came. */
  find(charge: ProviderCharge): Promise<Charged | undefined>;
  /** The card of a method that was removed. */
  forget(token: string): Promise<void>;
  /** A page of the provider where a card can be added; it tells us of it by an event. */
  linkToAddCard(holder: CardHolder): Promise<{ url: string; customer: string }>;
  /** Throws `NotFromProvider`, or `OutcomeUnknown`. Undefined: an event that is of no use to us. */
  readEvent(body: Buffer, signature: string | undefined): Promise<ProviderEvent | undefined>;
};
export type Charged = { providerId: string };
/**
 * By all three it is known again: another installation may use the same provider and the same numbers, and so may this
 * one, after its database was restored to what it was before a charge.
 */
export type ChargeName = { chargeId: number; accountUuid: string; opened: string };
export type ProviderCharge = ChargeName & {
  amountCents: number;
  customer: string;
  token: string;
  description: string;
};

/** Events may come late, twice, and in any order. Amounts of refunds are sums so far. */
export type ProviderEvent = { id: string; type: string } & (
  | ({ of: "charge succeeded"; amountCents: number } & OfCharge)
  | ({ of: "charge declined"; reason: string } & OfCharge)
  | ({ of: "refund"; amountCents: number; refundedCents: number } & OfCharge)
  | { of: "card added"; accountUuid: string; card: KeptCard }
);
type OfCharge = ChargeName & { providerId: string };

/** The provider said no. Its reason is for the tenant. */
export class Declined extends Error {
  override readonly name = "Declined";
}

/** It may have been done, or not: the same key finds out. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

export class NotFromProvider extends Error {
  override readonly name = "NotFromProvider";
}
