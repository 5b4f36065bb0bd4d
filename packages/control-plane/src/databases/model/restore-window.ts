/** Every second of the last so many days can be restored. */
export const RESTORE_DAYS = 7;
/** A request accepted at the edge of the window still finds its data when it runs. */
export const GRACE_DAYS = 1;
const DAY_MS = 86_400_000;

/** The first restorable time, in whole seconds, as times are shown. Null for a database without a timeline. */
export function oldestRestoreTime(database: { created_at: Date; timeline_id: string | null }, now: Date): Date | null {
  if (database.timeline_id === null) return null;
  const oldest = Math.max(database.created_at.getTime(), now.getTime() - RESTORE_DAYS * DAY_MS);
  return new Date(Math.ceil(oldest / 1000) * 1000);
}
