import { expect, test } from "vitest";
import { changedUpdates, defaultUpdates, faultsOfUpdates } from "./maintenance-window.ts";

const monthly = { ...defaultUpdates, frequency: "monthly", week_of_month: 2 } as const;

test("a part of a window is changed, and the rest stays", () => {
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
      reason: "updates.week_of_month must be a valid value: 1 to 4, for a monthly window",
    },
  ]);
  expect(faultsOfUpdates(changedUpdates(monthly, { week_of_month: null }))).toHaveLength(1);
  expect(faultsOfUpdates(changedUpdates(weekless, { week_of_month: 4 }))).toEqual([]);
  expect(faultsOfUpdates(defaultUpdates)).toEqual([]);
});
