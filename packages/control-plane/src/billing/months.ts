import type { Period } from "./rating.ts";

/** A calendar month in UTC, by its first day, such as 2026-10-01. */
export type Month = string;

export const monthOf = (at: Date): Month => `${at.toISOString().slice(0, 7)}-01`;

export const startOf = (month: Month): Date => new Date(`${month}T00:00:00Z`);

export function monthAfter(month: Month): Month {
  const start = startOf(month);
  return monthOf(new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1)));
}

export const endOf = (month: Month): Date => startOf(monthAfter(month));

/** Every month that a span touches, each from its start; the last one up to the span's end. */
export function monthsOf(since: Date, until: Date): { month: Month; period: Period }[] {
  const months = [];
  for (let month = monthOf(since); startOf(month) < until; month = monthAfter(month)) {
    const end = endOf(month);
    months.push({ month, period: { from: startOf(month), until: end < until ? end : until } });
  }
  return months;
}
