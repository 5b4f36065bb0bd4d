import type { UsageFactRow } from "#metering/index.ts";
import { hoursOf } from "./rate-hours.ts";
import { linesOfCredits } from "./rate-credits.ts";
import { linesOfResource } from "./rate-resource.ts";
import { tax, taxesFor } from "./rate-taxes.ts";
import type { Adjustment, Period, RatedInvoice, RatingInput, UntaxedLine } from "./rating.ts";

/**
 * What an account owes for a period: usage by resource, then the operator's adjustments, then deductions by credits.
 */
export function rate(input: RatingInput): RatedInvoice {
  const { period, prices } = input;
  const usage = byResource(input.facts).flatMap((facts) => linesOfResource(hoursOf(facts, prices, period)));
  const owed = [...usage, ...linesOfAdjustments(input.adjustments, period)];
  const untaxed = [...owed, ...linesOfCredits(input.credits, sum(owed), period)];
  const { lines, summary } = tax(untaxed, taxesFor(input));
  const [subtotal, taxed] = [sum(lines), lines.reduce((total, line) => total + line.tax_micros, 0)];
  return {
    lines,
    subtotal_micros: subtotal,
    tax_micros: taxed,
    total_micros: subtotal + taxed,
    tax_summary: summary,
  };
}

const sum = (lines: readonly UntaxedLine[]): number => lines.reduce((total, line) => total + line.amount_micros, 0);

/** Ordered by id, whatever the order of the facts: rating must be deterministic. */
function byResource(facts: readonly UsageFactRow[]): UsageFactRow[][] {
  const resources = new Map<number, UsageFactRow[]>();
  for (const fact of facts) {
    const known = resources.get(fact.resource_id);
    if (known === undefined) resources.set(fact.resource_id, [fact]);
    else known.push(fact);
  }
  for (const known of resources.values()) known.sort((a, b) => a.sequence - b.sequence);
  return [...resources].sort(([a], [b]) => a - b).map(([, known]) => known);
}

const linesOfAdjustments = (adjustments: readonly Adjustment[], { from, until }: Period): UntaxedLine[] =>
  adjustments
    .filter(({ at }) => at >= from && at < until)
    .sort((a, b) => a.at.getTime() - b.at.getTime() || a.id - b.id)
    .map(({ id, at, label, amount_micros }) => ({
      label,
      type: "misc",
      from_at: at,
      to_at: at,
      quantity: 1,
      unit_price_micros: amount_micros,
      amount_micros,
      region: null,
      resource_type: null,
      resource_id: null,
      credit_id: null,
      adjustment_id: id,
    }));
