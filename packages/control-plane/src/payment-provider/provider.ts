import type { Card } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";

/**
 * What we need from a payment provider. Only the process `cards` has a `CardVault`; the others know a card by its
 * token. Each call can be repeated with its key: the provider carries it out once.
 */
export type CardVault = {
  /** Throws `Declined`. Creates a customer if there is none. */
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
  /** Charges the card, or throws `Declined` or `OutcomeUnknown`. */
  charge(charge: ProviderCharge, key: string): Promise<Charged>;
  /**
   * The outcome of an earlier charge: like `charge`, but without charging. Undefined: the provider never got the
   * charge.
   */
  find(charge: ProviderCharge): Promise<Charged | undefined>;
  /**
   * Charges of this and other installations that charged a card since then, or may still; without a time, all of them.
   * Throws `OutcomeUnknown`.
   */
  listSince(since: Date | undefined): Promise<MadeCharge[]>;
  /** Deletes the card of a removed payment method. */
  forget(token: string): Promise<void>;
  /** A page of the provider on which a card can be added; the provider reports the card by an event. */
  linkToAddCard(holder: CardHolder): Promise<{ url: string; customer: string }>;
  /** Throws `NotFromProvider` or `OutcomeUnknown`. Undefined: an event that is not used. */
  readEvent(body: Buffer, signature: string | undefined): Promise<ProviderEvent | undefined>;
};
export type Charged = { providerId: string };
/**
 * All three identify a charge: another installation may use the same provider account and ids, and so may this one
 * after its database was restored to a time before the charge.
 */
export type ChargeName = { chargeId: number; accountUuid: string; opened: string };
export type ProviderCharge = ChargeName & {
  amountCents: number;
  customer: string;
  token: string;
  description: string;
  /** Kept by the provider, and returned with the charge. */
  request?: string;
};
/** A charge as the provider has it. */
export type MadeCharge = ChargeName & {
  providerId: string;
  /** The bank has not decided yet. */
  isProcessing: boolean;
  amountCents: number;
  refundedCents: number;
  /** Undefined: it was not a card. */
  card: KeptCard | undefined;
  request: string | undefined;
};

/** Events may arrive late, twice, and in any order. Refunded amounts are totals so far. */
export type ProviderEvent = { id: string; type: string } & (
  | ({ of: "charge succeeded"; amountCents: number } & OfCharge)
  | ({ of: "charge declined"; reason: Text } & OfCharge)
  | ({ of: "refund"; amountCents: number; refundedCents: number } & OfCharge)
  | { of: "card added"; accountUuid: string; card: KeptCard }
);
type OfCharge = ChargeName & { providerId: string };

/** The provider declined. Its reason is for the tenant. */
export class Declined extends Error {
  override readonly name = "Declined";
  readonly reason: Text;
  constructor(reason: Text) {
    super(reason.text);
    this.reason = reason;
  }
}

/** The call may or may not have been carried out: a retry with the same key finds out. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

export class NotFromProvider extends Error {
  override readonly name = "NotFromProvider";
}
