import type { Tx } from "#platform/db/database.ts";
import { deleteBackups, doomCopies, type Owner } from "./backup-store.ts";
import { expiredBackups, needsOf, unneededLogs, windowStart } from "./retention.ts";
import { deleteEmptyTimelines, doomLogs, findFamily, findLogs } from "./retention-store.ts";

export type RetentionSettings = { dailyBackupsKept: number };

/**
 * Deletes what nothing needs any more: backups by their number, then copies and logs that neither a remaining backup
 * nor the restore window needs. The caller has locked the database. Repeatable.
 */
export async function applyRetention(tx: Tx, owner: Owner, settings: RetentionSettings, now: Date): Promise<void> {
  const { timelines, copies, backups } = await findFamily(tx, owner);
  const isOwn = ({ database_id }: { database_id: number }): boolean => database_id === owner.databaseId;

  const expired = expiredBackups(backups.filter(isOwn), settings.dailyBackupsKept);
  if (expired.length > 0) await deleteBackups(tx, owner, expired);
  const kept = backups.filter(({ id }) => !expired.includes(id));
  const needs = needsOf({ timelines, copies, backups: kept }, now);

  const own = timelines.filter(isOwn);
  const doomed = copies.filter(
    ({ id, timeline_id }) => own.some((each) => each.id === timeline_id) && !needs.copies.has(id),
  );
  if (doomed.length > 0)
    await doomCopies(
      tx,
      owner.accountId,
      doomed.map(({ id }) => id),
      now,
    );
  for (const { id } of own) {
    const ranges = needs.logs.filter(({ timeline }) => timeline === id);
    // Everything after the start of an open range is needed: most logs are never read.
    const logs = await findLogs(tx, id, ranges.find(({ until }) => until === undefined)?.first);
    const unneeded = unneededLogs(logs, ranges);
    if (unneeded.length > 0) await doomLogs(tx, id, unneeded, now);
  }
  await deleteEmptyTimelines(tx, owner, windowStart(now));
}
