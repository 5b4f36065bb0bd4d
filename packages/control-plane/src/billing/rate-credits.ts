import { wholeCents } from "./rate-cents.ts";
import type { Period, Credit, UntaxedLine } from "./rating.ts";

/**
 * Deductions by credits, the oldest first, each from what the others left: limited by the credit's remainder and its
 * monthly maximum. A credit applies in every month that it touches, and never makes an invoice negative.
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
