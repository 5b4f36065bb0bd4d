import type { Updates } from "@moorage/contract";
import { expect, test } from "vitest";
import { invalidReason } from "#platform/errors.ts";
import { changedUpdates, defaultUpdates, faultsOfUpdates, nextWindow, windowAt } from "./maintenance-window.ts";
import { texts } from "./texts.ts";

const monthly = { ...defaultUpdates, frequency: "monthly", week_of_month: 2 } as const;

test("some fields of a window change, and the rest stays", () => {
  expect(changedUpdates(defaultUpdates)).toEqual(defaultUpdates);
  expect(changedUpdates(defaultUpdates, {})).toEqual(defaultUpdates);
  expect(changedUpdates(monthly, { hour_of_day: 0 })).toEqual({ ...monthly, hour_of_day: 0 });
  expect(changedUpdates(monthly, { duration: undefined })).toEqual(monthly);
});

test("a weekly window has no week of the month", () => {
  expect(changedUpdates(monthly, { frequency: "weekly" })).toMatchObject({ week_of_month: null });
  expect(changedUpdates(defaultUpdates, { week_of_month: 3 })).toMatchObject({ week_of_month: null });
});

test("a monthly window needs its week", () => {
  const weekless = changedUpdates(defaultUpdates, { frequency: "monthly" });
  expect(faultsOfUpdates(weekless)).toEqual([
    {
      field: "updates.week_of_month",
      reason: invalidReason("updates.week_of_month", texts.weekOfMonthMissing()),
    },
  ]);
  expect(faultsOfUpdates(changedUpdates(monthly, { week_of_month: null }))).toHaveLength(1);
  expect(faultsOfUpdates(changedUpdates(weekless, { week_of_month: 4 }))).toEqual([]);
  expect(faultsOfUpdates(defaultUpdates)).toEqual([]);
});

const HOUR_MS = 3_600_000;
const at = (text: string): Date => new Date(`${text}Z`);
const days = [1, 2, 3, 4, 5, 6, 7];
const hours = Array.from({ length: 24 }, (_, hour) => hour);
const everyWindow: Updates[] = days.flatMap((day_of_week) =>
  hours.flatMap((hour_of_day) =>
    [1, 2, 3].flatMap((duration) => [
      { frequency: "weekly" as const, duration, hour_of_day, day_of_week, week_of_month: null },
      ...[1, 2, 3, 4].map((week_of_month) => ({
        frequency: "monthly" as const,
        duration,
        hour_of_day,
        day_of_week,
        week_of_month,
      })),
    ]),
  ),
);

/** The starts of a year's windows, by counting through the calendar month by month. */
function startsOf({ frequency, day_of_week, hour_of_day, week_of_month }: Updates, year: number): Set<number> {
  const starts = new Set<number>();
  for (let month = 0; month < 12; month++) {
    let count = 0;
    for (let day = 1; day <= new Date(Date.UTC(year, month + 1, 0)).getUTCDate(); day++) {
      const start = new Date(Date.UTC(year, month, day, hour_of_day));
      if (start.getUTCDay() !== day_of_week % 7) continue;
      count++;
      if (frequency === "weekly" || count === week_of_month) starts.add(start.getTime());
    }
  }
  return starts;
}

test("every window of a leap year is open from its start to its end, on its days and on no other", () => {
  const wrong: string[] = [];
  for (const updates of everyWindow) {
    const starts = startsOf(updates, 2028);
    const { hour_of_day, duration } = updates;
    const isOpen = (now: number): boolean => windowAt(updates, new Date(now)) !== undefined;
    for (let start = Date.UTC(2028, 0, 1, hour_of_day); start < Date.UTC(2029); start += 24 * HOUR_MS) {
      const end = start + duration * HOUR_MS;
      const answers = starts.has(start)
        ? [!isOpen(start - 1), isOpen(start), isOpen(end - 1), !isOpen(end)]
        : [!isOpen(start), !isOpen(end - 1)];
      if (answers.includes(false)) wrong.push(`${JSON.stringify(updates)} on ${new Date(start).toISOString()}`);
    }
    for (let next = nextWindow(updates, new Date(Date.UTC(2028) - 1)); next.start.getTime() < Date.UTC(2029); ) {
      if (!starts.delete(next.start.getTime()))
        wrong.push(`${JSON.stringify(updates)} next ${next.start.toISOString()}`);
      next = nextWindow(updates, next.start);
    }
    if (starts.size > 0) wrong.push(`${JSON.stringify(updates)} leaves ${starts.size} out`);
  }
  expect(everyWindow).toHaveLength(7 * 24 * 3 * 5);
  expect(wrong).toEqual([]);
});

test.each([
  // Over midnight, over the end of a month, over the end of a year.
  ["2026-12-31T23:00:00", "2027-01-01T01:59:59", { day_of_week: 4, hour_of_day: 23, duration: 3 }],
  ["2026-02-28T23:00:00", "2026-03-01T00:59:59", { day_of_week: 6, hour_of_day: 23, duration: 2 }],
  ["2026-11-01T22:00:00", "2026-11-02T00:59:59", { ...monthly, week_of_month: 1, day_of_week: 7, hour_of_day: 22 }],
  ["2028-02-29T00:00:00", "2028-02-29T00:59:59", { day_of_week: 2, hour_of_day: 0, duration: 1 }],
] as const)("a window from %s includes its first second and %s, and no more", (first, last, change) => {
  const updates = { ...defaultUpdates, ...change };
  const window = windowAt(updates, at(first));
  expect(window).toEqual({ start: at(first), end: new Date(at(last).getTime() + 1000) });
  expect(windowAt(updates, at(last))).toEqual(window);
  expect(windowAt(updates, new Date(at(first).getTime() - 1))).toBeUndefined();
  expect(windowAt(updates, new Date(at(last).getTime() + 1000))).toBeUndefined();
});

test("the next window starts after now, also when now is the start of one", () => {
  expect(nextWindow(defaultUpdates, at("2026-06-07T19:59:59")).start).toEqual(at("2026-06-07T20:00:00"));
  expect(nextWindow(defaultUpdates, at("2026-06-07T20:00:00")).start).toEqual(at("2026-06-14T20:00:00"));
});
