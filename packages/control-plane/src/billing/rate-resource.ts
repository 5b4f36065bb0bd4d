import { roundToCents, wholeCents } from "./rate-cents.ts";
import { type Stretch, toDate } from "./rate-hours.ts";
import type { UntaxedLine } from "./rating.ts";

/**
 * What one resource costs in one month: a line for each stretch, rounded once and at most its own price of a month; all
 * of them at most the highest of these. What is above that is taken from the later lines.
 */
export function linesOfResource(stretches: readonly Stretch[]): UntaxedLine[] {
  const newest = stretches.at(-1)?.fact.label ?? "";
  let left = Math.max(0, ...stretches.map(capOf));
  return stretches.map((stretch) => {
    const amount = Math.min(amountOf(stretch), left);
    left -= amount;
    return lineOf(stretch, newest, amount);
  });
}

const capOf = ({ monthlyMicros }: Stretch): number => wholeCents(monthlyMicros);

const amountOf = (stretch: Stretch): number =>
  Math.min(roundToCents((stretch.to - stretch.from) * stretch.hourlyMicros), capOf(stretch));

const lineOf = ({ from, to, fact, hourlyMicros }: Stretch, label: string, amount: number): UntaxedLine => ({
  label: `Database ${label} (${fact.nodes > 1 ? `${fact.nodes} × ` : ""}${fact.plan}${fact.state === "suspended" ? ", suspended" : ""})`,
  type: "hourly",
  from_at: toDate(from),
  to_at: toDate(to),
  quantity: to - from,
  unit_price_micros: hourlyMicros,
  amount_micros: amount,
  region: fact.region,
  resource_type: fact.resource_type,
  resource_id: fact.resource_id,
  credit_id: null,
  adjustment_id: null,
});
