import type { PriceBook, PriceVersion, UsageFactRow } from "#metering/index.ts";
import type { Period } from "./rating.ts";

const HOUR_MS = 3_600_000;

/** Consecutive hours in which a resource did not change, at the same price. Hours are counted since 1970. */
export type Stretch = {
  from: number;
  to: number;
  fact: UsageFactRow;
  price: PriceVersion;
  /** Per hour, and maximum per month, for all nodes together. */
  hourlyMicros: number;
  monthlyMicros: number;
};

/**
 * The hours of one resource in a period, each counted once: a started hour counts in full, at the highest price in it.
 * The cost of this function grows with the facts and prices, not with the hours.
 */
export function hoursOf(facts: readonly UsageFactRow[], prices: PriceBook, { from, until }: Period): Stretch[] {
  const hours: Stretch[] = [];
  for (const [index, fact] of facts.entries()) {
    const next = facts[index + 1]?.at ?? until;
    const [start, end] = [Math.max(fact.at.getTime(), from.getTime()), Math.min(next.getTime(), until.getTime())];
    // A resource that ended on the full hour did not start that hour, and a state without duration does not count.
    if (fact.state === "ended" || start >= end) continue;
    for (const stretch of atEachPrice(fact, prices, Math.floor(start / HOUR_MS), Math.ceil(end / HOUR_MS)))
      append(hours, stretch);
  }
  return hours;
}

/** Two facts can share an hour: the last hour so far, and the first one of the next stretch. */
function append(hours: Stretch[], next: Stretch): void {
  const last = hours.at(-1);
  if (last === undefined) {
    hours.push(next);
    return;
  }
  const shared = last.to - next.from;
  if (shared > 0 && next.hourlyMicros <= last.hourlyMicros) next = { ...next, from: last.to };
  else if (shared > 0) hours.splice(-1, 1, ...nonEmpty({ ...last, to: next.from }));
  const before = hours.at(-1);
  // Keeps the newer label.
  if (before !== undefined && isContinued(before, next)) Object.assign(before, { to: next.to, fact: next.fact });
  else hours.push(...nonEmpty(next));
}

const nonEmpty = (stretch: Stretch): Stretch[] => (stretch.from < stretch.to ? [stretch] : []);

const isContinued = (before: Stretch, next: Stretch): boolean =>
  before.to === next.from &&
  before.price === next.price &&
  before.fact.state === next.fact.state &&
  before.fact.nodes === next.fact.nodes &&
  before.fact.region === next.fact.region;

function atEachPrice(fact: UsageFactRow, prices: PriceBook, from: number, to: number): Stretch[] {
  const versions = prices.get(fact.plan) ?? [];
  const stretches = versions.flatMap((price, index): Stretch[] => {
    const next = versions[index + 1]?.valid_from.getTime() ?? Number.POSITIVE_INFINITY;
    return nonEmpty({
      from: Math.max(from, price.valid_from.getTime() / HOUR_MS),
      to: Math.min(to, next / HOUR_MS),
      fact,
      price,
      ...costOf(price, fact),
    });
  });
  // No invoice is better than one with free hours.
  if (stretches[0]?.from !== from) throw new Error(`Plan ${fact.plan} has no price at ${fact.at.toISOString()}.`);
  return stretches;
}

const costOf = (price: PriceVersion, { state, nodes }: UsageFactRow) =>
  state === "suspended"
    ? { hourlyMicros: price.suspended_hourly_micros * nodes, monthlyMicros: price.suspended_monthly_micros * nodes }
    : { hourlyMicros: price.hourly_micros * nodes, monthlyMicros: price.monthly_micros * nodes };

export const toDate = (hour: number): Date => new Date(hour * HOUR_MS);
