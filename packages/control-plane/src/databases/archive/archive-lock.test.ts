import { expect, test } from "vitest";
import { createArchiveLock, lockDays } from "./archive-lock.ts";

const promised = { MOORAGE_DAILY_BACKUPS_KEPT: 7, MOORAGE_UNDELETE_DAYS: 7 };
const now = new Date("2026-11-19T12:00:00Z");
const store = (objectLock: boolean) => ({ protection: async () => ({ versions: objectLock, objectLock }) });

test.each([
  ["the restore window of 7 days, a day of grace, and a day between copies", {}, 9],
  ["more daily backups", { MOORAGE_DAILY_BACKUPS_KEPT: 30 }, 31],
  ["a longer undelete", { MOORAGE_UNDELETE_DAYS: 13.5 }, 15],
])("objects are locked as long as the longest promise needs them: %s", (_, change, days) => {
  expect(lockDays({ ...promised, ...change })).toBe(days);
});

test("without Object Lock, or with it off, no retention is asked for", async () => {
  const governed = { ...promised, MOORAGE_S3_LOCK_MODE: "GOVERNANCE" as const };
  expect(await createArchiveLock(store(false), governed)(now)).toBeUndefined();
  expect(await createArchiveLock(store(true), { ...promised, MOORAGE_S3_LOCK_MODE: "off" })(now)).toBeUndefined();
  expect(await createArchiveLock(store(true), governed)(now)).toEqual({
    mode: "GOVERNANCE",
    until: new Date("2026-11-28T12:00:00Z"),
  });
});
