import type { FakeCard } from "./fake-cards.ts";

export type Metadata = Record<string, string>;
export type Method = FakeCard & { id: string; exp_month: number; exp_year: number; customer: string | null };
export type Intent = {
  id: string;
  amount: number;
  customer: string;
  metadata: Metadata;
  status: "succeeded" | "requires_payment_method" | "canceled";
  last_payment_error: object | null;
  refunded: number;
};
export type Session = { id: string; customer: string; metadata: Metadata; setup_intent: string | null };
export type FakeEvent = { id: string; object: "event"; type: string; data: { object: object } };

export class FakeRefusal extends Error {
  readonly status: number;
  readonly error: object;
  constructor(status: number, error: object) {
    super("refused");
    this.status = status;
    this.error = error;
  }
}

export type Setup = { id: string; customer: string; payment_method: string };
export type FakeMemory = { methods: Method[]; intents: Intent[]; setups: Setup[] };

export function pageOf(all: { id: string; customer: string }[], query: URLSearchParams): object {
  const ofCustomer = all.filter(({ customer }) => customer === query.get("customer"));
  const after = ofCustomer.findIndex(({ id }) => id === query.get("starting_after")) + 1;
  const data = ofCustomer.slice(after, after + Number(query.get("limit") ?? 10));
  return { object: "list", data, has_more: after + data.length < ofCustomer.length, url: "/v1/payment_intents" };
}

export const metadataOf = (form: URLSearchParams): Metadata =>
  Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
      return key === undefined ? [] : [[key, value]];
    }),
  );

export const wireMethod = ({ id, customer, brand, last4, exp_month, exp_year }: Method) => ({
  id,
  object: "payment_method",
  type: "card",
  customer,
  card: { brand, last4, exp_month, exp_year },
});
export const wireIntent = ({ id, amount, customer, metadata, status, last_payment_error }: Intent) => ({
  id,
  object: "payment_intent",
  amount,
  currency: "usd",
  customer,
  metadata,
  status,
  last_payment_error,
  amount_received: status === "succeeded" ? amount : 0,
});
export const wireCharge = ({ id, amount, metadata, refunded }: Intent) => ({
  id: `ch_of_${id}`,
  object: "charge",
  amount,
  amount_refunded: refunded,
  metadata,
  payment_intent: id,
});

export const declinedCard = (more: object = {}): FakeRefusal =>
  new FakeRefusal(402, {
    type: "card_error",
    code: "card_declined",
    decline_code: "generic_decline",
    message: "Your card was declined.",
    ...more,
  });

export function missing(what: string): never {
  throw new FakeRefusal(404, { type: "invalid_request_error", code: "resource_missing", message: `No such ${what}.` });
}
