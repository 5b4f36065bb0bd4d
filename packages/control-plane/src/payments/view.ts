import { type Payment, type PaymentMethod, toTimestamp } from "@moorage/contract";
import { toDollars } from "#billing/index.ts";
import type { MethodRow } from "./method-store.ts";
import type { PaymentRow } from "./payment-store.ts";

export const viewOfMethod = (method: MethodRow): PaymentMethod => ({
  id: method.id,
  created: toTimestamp(method.created_at),
  is_default: method.is_default,
  type: "credit_card",
  data: { card_type: method.card_type, expiry: expiryOf(method), last_four: method.last_four },
});

/** In the clients' format: `07/2031`. */
export const expiryOf = ({ expiry_month, expiry_year }: Pick<MethodRow, "expiry_month" | "expiry_year">): string =>
  `${String(expiry_month).padStart(2, "0")}/${expiry_year}`;

export const viewOfPayment = ({ id, at, amount_micros }: PaymentRow): Payment => ({
  id,
  date: toTimestamp(at),
  usd: toDollars(amount_micros),
});
