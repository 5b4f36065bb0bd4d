import { roundToCents, wholeCents } from "./rate-cents.ts";
import { type Stretch, toDate } from "./rate-hours.ts";
import type { UntaxedLine } from "./rating.ts";

/**
 * The cost of one resource in one month: a line per stretch, rounded once and capped at its plan's monthly price; all
 * lines together are capped at the highest of these. The excess is deducted from the later lines.
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
