import { wholeCents } from "./rate-cents.ts";
import type { Period, Promotion, UntaxedLine } from "./rating.ts";

/**
 * What promotions take off, the oldest first, each from what the others have left: within what remains of it, and at
 * most so much a month. It counts in every month that it touches, and never makes an invoice a gift.
 */
export function linesOfPromotions(promotions: readonly Promotion[], owedMicros: number, period: Period): UntaxedLine[] {
  let left = owedMicros;
  return oldestFirst(promotions.filter((promotion) => touches(promotion, period))).flatMap((promotion) => {
    const remaining = promotion.credit_micros - promotion.used_micros;
    const taken = wholeCents(Math.max(0, Math.min(left, remaining, promotion.monthly_cap_micros)));
    left -= taken;
    return taken === 0 ? [] : [lineOf(promotion, taken, period)];
  });
}

const touches = ({ granted_at, expires_at }: Promotion, { from, until }: Period): boolean =>
  granted_at < until && (expires_at === null || expires_at > from);

const oldestFirst = (promotions: Promotion[]): Promotion[] =>
  promotions.sort((a, b) => a.granted_at.getTime() - b.granted_at.getTime() || a.id - b.id);

const lineOf = ({ id, summary }: Promotion, taken: number, { from, until }: Period): UntaxedLine => ({
  label: `Credit: ${summary}`,
  type: "misc",
  from_at: from,
  to_at: until,
  quantity: 1,
  unit_price_micros: -taken,
  amount_micros: -taken,
  region: null,
  resource_type: null,
  resource_id: null,
  promotion_id: id,
  adjustment_id: null,
});
