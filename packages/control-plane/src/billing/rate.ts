import type { UsageFactRow } from "#metering/index.ts";
import { hoursOf, type Stretch, toDate } from "./rate-hours.ts";
import type {
  Adjustment,
  Credit,
  Period,
  RatedInvoice,
  RatedLine,
  RatingInput,
  TaxRate,
  UntaxedLine,
} from "./rating.ts";

const CENT = 10_000;
const HALF_CENT = 5_000;
const MILLION = 1_000_000;

/**
 * What an account owes for a period: usage by resource, then the operator's adjustments, then deductions by credits.
 */
export function rate(input: RatingInput): RatedInvoice {
  const { period, prices } = input;
  const usage = byResource(input.facts).flatMap((facts) => linesOfResource(hoursOf(facts, prices, period)));
  const owed = [...usage, ...linesOfAdjustments(input.adjustments, period)];
  const untaxed = [...owed, ...linesOfCredits(input.credits, sumOf(owed), period)];
  const { lines, summary } = tax(untaxed, taxesFor(input));
  const [subtotal, taxed] = [sumOf(lines), lines.reduce((total, line) => total + line.tax_micros, 0)];
  return {
    lines,
    subtotal_micros: subtotal,
    tax_micros: taxed,
    total_micros: subtotal + taxed,
    tax_summary: summary,
  };
}

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

/**
 * The cost of one resource in one month: a line per stretch, rounded once and capped at its plan's monthly price; all
 * lines together are capped at the highest of these. The excess is deducted from the later lines.
 */
function linesOfResource(stretches: readonly Stretch[]): UntaxedLine[] {
  const newest = stretches.at(-1)?.fact.label ?? "";
  let left = Math.max(0, ...stretches.map(capOf));
  return stretches.map((stretch) => {
    const amount = Math.min(amountOf(stretch), left);
    left -= amount;
    return lineOfStretch(stretch, newest, amount);
  });
}

const capOf = ({ monthlyMicros }: Stretch): number => wholeCents(monthlyMicros);

const amountOf = (stretch: Stretch): number =>
  Math.min(roundToCents((stretch.to - stretch.from) * stretch.hourlyMicros), capOf(stretch));

const lineOfStretch = ({ from, to, fact, hourlyMicros }: Stretch, label: string, amount: number): UntaxedLine => ({
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

/**
 * Deductions by credits, the oldest first, each from what the others left: limited by the credit's remainder and its
 * monthly maximum. A credit applies in every month that it touches, and never makes an invoice negative.
 */
function linesOfCredits(credits: readonly Credit[], owedMicros: number, period: Period): UntaxedLine[] {
  let left = owedMicros;
  return oldestFirst(credits.filter((credit) => touches(credit, period))).flatMap((credit) => {
    const remaining = credit.credit_micros - credit.used_micros;
    const taken = wholeCents(Math.max(0, Math.min(left, remaining, credit.monthly_cap_micros)));
    left -= taken;
    return taken === 0 ? [] : [lineOfCredit(credit, taken, period)];
  });
}

const touches = ({ granted_at, expires_at }: Credit, { from, until }: Period): boolean =>
  granted_at < until && (expires_at === null || expires_at > from);

const oldestFirst = (credits: Credit[]): Credit[] =>
  credits.sort((a, b) => a.granted_at.getTime() - b.granted_at.getTime() || a.id - b.id);

const lineOfCredit = ({ id, summary }: Credit, taken: number, { from, until }: Period): UntaxedLine => ({
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

const sumOf = (lines: readonly UntaxedLine[]): number => lines.reduce((total, line) => total + line.amount_micros, 0);

/** Taxes of the country, then of the state, as they were at the period's end. */
export function taxesFor({
  taxRates,
  billTo,
  period,
}: Pick<RatingInput, "taxRates" | "billTo"> & { period: Pick<RatingInput["period"], "until"> }): TaxRate[] {
  return taxRates
    .filter(
      (taxRate) =>
        taxRate.country === billTo.country &&
        (taxRate.state === "" || taxRate.state === billTo.state) &&
        taxRate.valid_from < period.until &&
        (taxRate.valid_until === null || taxRate.valid_until >= period.until) &&
        !(taxRate.waived_by_tax_id && billTo.tax_id !== ""),
    )
    .sort((a, b) => compare(a.state, b.state) || compare(a.name, b.name));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Each tax is rounded per line, so that every line is correct by itself and the sums agree. Credits are taxed too. */
function tax(
  lines: readonly UntaxedLine[],
  rates: readonly TaxRate[],
): { lines: RatedLine[]; summary: { name: string; tax_micros: number }[] } {
  const summary = rates.map(({ name }) => ({ name, tax_micros: 0 }));
  const taxed = lines.map((line) => {
    let sum = 0;
    for (const [index, { rate_ppm }] of rates.entries()) {
      const share = shareOf(line.amount_micros, rate_ppm);
      sum += share;
      (summary[index] as { tax_micros: number }).tax_micros += share;
    }
    return { ...line, tax_micros: sum, total_micros: line.amount_micros + sum };
  });
  return { lines: taxed, summary };
}

/** Rounds half a cent away from zero. Uses remainders, so that the arithmetic stays in integers. */
export function roundToCents(micros: number): number {
  const up = Math.abs(micros) + HALF_CENT;
  return signed(up - (up % CENT), micros);
}

/** Rounds down to whole cents, for an amount that must not be exceeded. */
export const wholeCents = (micros: number): number => micros - (micros % CENT);

/** `ppm` millionths of an amount, rounded to cents as above. */
function shareOf(micros: number, ppm: number): number {
  const up = (Math.abs(micros) / CENT) * ppm + MILLION / 2;
  return signed(((up - (up % MILLION)) / MILLION) * CENT, micros);
}

/** Avoids -0: a zero tax on a credit equals any other zero. */
const signed = (size: number, like: number): number => (like < 0 && size !== 0 ? -size : size);
