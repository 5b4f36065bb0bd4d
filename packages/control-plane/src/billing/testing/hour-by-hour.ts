/**
 * The same invoice in the simplest possible way: every hour is checked against every fact, and money is BigInt. It
 * shares no code with the rating, so that a mistake would have to be made twice.
 */
import type { RatingInput } from "../rating.ts";

const HOUR = 3_600_000;

type PlainLine = { what: string; from: number; hours: number; cents: bigint; taxes: bigint[] };
type Hour = { start: number; key: string; cost: number; cap: number };
/** With the hours of each resource. */
export type PlainInvoice = { lines: PlainLine[]; hours: Map<number, Hour[]> };

export function rateHourByHour(input: RatingInput): PlainInvoice {
  const ids = [...new Set(input.facts.map(({ resource_id }) => resource_id))].sort((a, b) => a - b);
  const lines: Omit<PlainLine, "taxes">[] = [];
  const hours = new Map(ids.map((id) => [id, hoursSeen(input, id)]));
  for (const [id, seen] of hours) lines.push(...linesOfResource(seen, `resource ${id}`));
  for (const { id, at, amount_micros } of sorted(input.adjustments, (adjustment) => adjustment.at))
    if (at >= input.period.from && at < input.period.until)
      lines.push({ what: `adjustment ${id}`, from: at.getTime(), hours: 0, cents: BigInt(amount_micros) / 10_000n });
  let owed = lines.reduce((total, { cents }) => total + cents, 0n);
  for (const credit of sorted(input.credits, ({ granted_at }) => granted_at)) {
    const over = credit.expires_at !== null && credit.expires_at.getTime() <= input.period.from.getTime();
    if (over || credit.granted_at.getTime() >= input.period.until.getTime()) continue;
    const bounds = [owed, BigInt(credit.credit_micros - credit.used_micros) / 10_000n];
    const most = [...bounds, BigInt(credit.monthly_cap_micros) / 10_000n].reduce((a, b) => (a < b ? a : b));
    if (most <= 0n) continue;
    owed -= most;
    lines.push({ what: `promotion ${credit.id}`, from: input.period.from.getTime(), hours: 0, cents: -most });
  }
  const rates = ratesOf(input);
  return { lines: lines.map((line) => ({ ...line, taxes: rates.map((ppm) => percentage(line.cents, ppm)) })), hours };
}

/** Each hour in which the resource was billable at any time, at the highest price in it. */
function hoursSeen({ facts, prices, period }: RatingInput, resourceId: number): Hour[] {
  const own = facts.filter(({ resource_id }) => resource_id === resourceId).sort((a, b) => a.sequence - b.sequence);
  const hours: Hour[] = [];
  for (let start = period.from.getTime(); start < period.until.getTime(); start += HOUR) {
    const end = Math.min(start + HOUR, period.until.getTime());
    let dearest: Hour | undefined;
    for (let index = 0; index < own.length; index++) {
      const fact = own[index] as (typeof own)[number];
      const gone = own[index + 1]?.at.getTime() ?? Number.POSITIVE_INFINITY;
      if (fact.state === "ended" || Math.max(fact.at.getTime(), start) >= Math.min(gone, end)) continue;
      const version = prices.get(fact.plan)?.findLast(({ valid_from }) => valid_from.getTime() <= start);
      if (version === undefined) throw new Error(`${fact.plan} has no price.`);
      const isOn = fact.state === "running";
      const cost = fact.nodes * (isOn ? version.hourly_micros : version.suspended_hourly_micros);
      const cap = fact.nodes * (isOn ? version.monthly_micros : version.suspended_monthly_micros);
      const key = `${fact.plan} ${fact.state} ${fact.nodes} ${fact.region} ${version.valid_from.getTime()}`;
      if (dearest === undefined || cost > dearest.cost) dearest = { start, key, cost, cap };
    }
    if (dearest !== undefined) hours.push(dearest);
  }
  return hours;
}

function linesOfResource(hours: readonly Hour[], what: string): Omit<PlainLine, "taxes">[] {
  const runs: Hour[][] = [];
  for (const hour of hours) {
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined && last.key === hour.key && last.start + HOUR === hour.start) runs.at(-1)?.push(hour);
    else runs.push([hour]);
  }
  const highest = Math.max(0, ...hours.map(({ cap }) => cap));
  let room = BigInt(highest) / 10_000n;
  return runs.map((run) => {
    const first = run[0] as Hour;
    const micros = run.reduce((total, { cost }) => total + BigInt(cost), 0n);
    const rounded = micros / 10_000n + (micros % 10_000n >= 5_000n ? 1n : 0n);
    const cents = [rounded, BigInt(first.cap) / 10_000n, room].reduce((a, b) => (a < b ? a : b));
    room -= cents;
    return { what, from: first.start, hours: run.length, cents };
  });
}

function ratesOf({ taxRates, billTo, period }: RatingInput): number[] {
  const last = period.until.getTime() - 1;
  const here = taxRates.filter(
    (rate) =>
      rate.country === billTo.country &&
      ["", billTo.state].includes(rate.state) &&
      rate.valid_from.getTime() <= last &&
      (rate.valid_until?.getTime() ?? Number.POSITIVE_INFINITY) > last &&
      (billTo.tax_id === "" || !rate.waived_by_tax_id),
  );
  return sorted(here, ({ state, name }) => `${state}\0${name}`).map(({ rate_ppm }) => rate_ppm);
}

/** Rounds half a cent away from zero. */
function percentage(cents: bigint, ppm: number): bigint {
  const exact = (cents < 0n ? -cents : cents) * BigInt(ppm);
  const rounded = exact / 1_000_000n + ((exact % 1_000_000n) * 2n >= 1_000_000n ? 1n : 0n);
  return cents < 0n ? -rounded : rounded;
}

function sorted<T>(items: readonly T[], by: (item: T) => Date | string): T[] {
  return [...items].sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
}
