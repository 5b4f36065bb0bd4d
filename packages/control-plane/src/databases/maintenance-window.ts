import type { MysqlDatabaseChange, Updates } from "@moorage/contract";
import { type ErrorDetail, invalidReason } from "#platform/errors.ts";

export const defaultUpdates: Updates = {
  frequency: "weekly",
  duration: 3,
  hour_of_day: 20,
  day_of_week: 7,
  week_of_month: null,
};

/** The window with a part of it changed. A weekly one has no week of the month, whatever it had before. */
export function changedUpdates(before: Updates, change: MysqlDatabaseChange["updates"] = {}): Updates {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const after: Updates = { ...before, ...given };
  return after.frequency === "weekly" ? { ...after, week_of_month: null } : after;
}

/** What is wrong with a window as a whole; each field by itself was judged before. */
export const faultsOfUpdates = ({ frequency, week_of_month }: Updates): ErrorDetail[] =>
  frequency === "monthly" && week_of_month === null
    ? [
        {
          field: "updates.week_of_month",
          reason: invalidReason("updates.week_of_month", "1 to 4, for a monthly window"),
        },
      ]
    : [];
