import { wholeCents } from "./rate-cents.ts";
import type { Period, Credit, UntaxedLine } from "./rating.ts";

/**
 * What credits take off, the oldest first, each from what the others have left: within what remains of it, and at
 * most so much a month. It counts in every month that it touches, and never makes an invoice a gift.
 */
export function linesOfCredits(credits: readonly Credit[], owedMicros: number, period: Period): UntaxedLine[] {
  let left = owedMicros;
  return oldestFirst(credits.filter((credit) => touches(credit, period))).flatMap((credit) => {
    const remaining = credit.credit_micros - credit.used_micros;
    const taken = wholeCents(Math.max(0, Math.min(left, remaining, credit.monthly_cap_micros)));
    left -= taken;
    return taken === 0 ? [] : [lineOf(credit, taken, period)];
  });
}

const touches = ({ granted_at, expires_at }: Credit, { from, until }: Period): boolean =>
  granted_at < until && (expires_at === null || expires_at > from);

const oldestFirst = (credits: Credit[]): Credit[] =>
  credits.sort((a, b) => a.granted_at.getTime() - b.granted_at.getTime() || a.id - b.id);

const lineOf = ({ id, summary }: Credit, taken: number, { from, until }: Period): UntaxedLine => ({
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
  credit_id: id,
  adjustment_id: null,
});
