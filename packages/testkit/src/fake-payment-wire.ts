import type { FakeCard } from "./fake-cards.ts";

export type Metadata = Record<string, string>;
export type Method = FakeCard & { id: string; exp_month: number; exp_year: number; customer: string | null };
export type Intent = {
  id: string;
  amount: number;
  /** Seconds. */
  created: number;
  customer: string;
  payment_method: string;
  metadata: Metadata;
  status: "succeeded" | "processing" | "requires_payment_method" | "canceled";
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

export function pageOf(all: { id: string; customer: string; created: number }[], query: URLSearchParams): object {
  const customer = query.get("customer");
  const since = Number(query.get("created[gte]") ?? 0);
  const found = all.filter((each) => (customer === null || each.customer === customer) && each.created >= since);
  const after = found.findIndex(({ id }) => id === query.get("starting_after")) + 1;
  const data = found.slice(after, after + Number(query.get("limit") ?? 10));
  return { object: "list", data, has_more: after + data.length < found.length, url: "/v1/payment_intents" };
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
export const wireIntent = ({ refunded: _, ...intent }: Intent) => ({
  ...intent,
  object: "payment_intent",
  currency: "usd",
  amount_received: intent.status === "succeeded" ? intent.amount : 0,
  latest_charge: `ch_of_${intent.id}`,
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
