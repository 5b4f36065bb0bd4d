import type { MysqlDatabaseChange, Updates } from "@moorage/contract";
import { type ErrorDetail, invalidReason } from "#platform/errors.ts";
import { texts } from "./texts.ts";

export const defaultUpdates: Updates = {
  frequency: "weekly",
  duration: 3,
  hour_of_day: 20,
  day_of_week: 7,
  week_of_month: null,
};

/** The window with some of its fields changed. A weekly one has no week of the month, whatever it had before. */
export function changedUpdates(before: Updates, change: MysqlDatabaseChange["updates"] = {}): Updates {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const after: Updates = { ...before, ...given };
  return after.frequency === "weekly" ? { ...after, week_of_month: null } : after;
}

/** The faults of a window as a whole; each field was validated before. */
export const faultsOfUpdates = ({ frequency, week_of_month }: Updates): ErrorDetail[] =>
  frequency === "monthly" && week_of_month === null
    ? [
        {
          field: "updates.week_of_month",
          reason: invalidReason("updates.week_of_month", texts.weekOfMonthMissing()),
        },
      ]
    : [];

/** From its start until before its end. */
export type Window = { start: Date; end: Date };

/** The first window that starts after this moment. */
export function nextWindow(updates: Updates, now: Date): Window {
  for (let day = 0; day <= LONGEST_GAP_DAYS; day++) {
    const window = windowOfDay(updates, now, day);
    if (window !== undefined && window.start > now) return window;
  }
  throw new Error(`No window of ${JSON.stringify(updates)} begins after ${now.toISOString()}.`);
}

/** The window that this moment lies in. It may have started the day before. */
export function windowAt(updates: Updates, now: Date): Window | undefined {
  return [-1, 0]
    .map((day) => windowOfDay(updates, now, day))
    .find((window) => window !== undefined && window.start <= now && now < window.end);
}

/** More than from the first week of a four-week month to the same week of the next one. */
const LONGEST_GAP_DAYS = 64;
const HOUR_MS = 3_600_000;

/** The window that starts so many days after today, if it may start on that day. */
function windowOfDay({ frequency, day_of_week, week_of_month, ...at }: Updates, now: Date, day: number) {
  const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + day, at.hour_of_day));
  const isDay = (start.getUTCDay() || 7) === day_of_week;
  // The n-th such weekday of a month is the one in its n-th seven days.
  const isWeek = frequency === "weekly" || Math.ceil(start.getUTCDate() / 7) === week_of_month;
  return isDay && isWeek ? { start, end: new Date(start.getTime() + at.duration * HOUR_MS) } : undefined;
}
