import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { TimelineRow } from "../model/timeline-store.ts";
import { type BackupRow, type CopyRow, deleteBackups, doomCopies, type Owner } from "./backup-store.ts";
import { expiredBackups, needsOf, unneededLogs, windowStart } from "./retention.ts";

export type RetentionSettings = { dailyBackupsKept: number };
type Log = { sequence: number; closed_at: Date };

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

/** Everything that decides what is still needed of a database's history, as far as it exists. */
export async function findFamily(tx: Tx, { databaseId }: Owner) {
  const timelines = await findTimelines(tx, databaseId);
  const ids = timelines.map(({ id }) => id);
  if (ids.length === 0) return { timelines, copies: [], backups: [] };
  const copies: CopyRow[] = await tx
    .selectFrom("copies")
    .selectAll()
    .where("timeline_id", "in", ids)
    .where("doomed_at", "is", null)
    .execute();
  const backups: BackupRow[] = await tx
    .selectFrom("backups")
    .selectAll()
    .where("timeline_id", "in", ids)
    .orderBy("id")
    .execute();
  return { timelines, copies, backups };
}

/**
 * The database's own timelines, those that started from them (a fork's belong to another database), and all ancestors
 * of these.
 */
async function findTimelines(tx: Tx, databaseId: number): Promise<TimelineRow[]> {
  const { rows } = await sql<TimelineRow>`
    with recursive below as (
      select * from timelines where database_id = ${databaseId}
      union select child.* from timelines child join below on child.parent_id = below.id),
    family as (
      select * from below
      union select parent.* from timelines parent join family on parent.id = family.parent_id)
    select * from family`.execute(tx);
  return rows;
}

/** In order; those before a number, or all. */
const findLogs = (tx: Tx, timelineId: string, before: number | undefined): Promise<Log[]> =>
  tx
    .selectFrom("binary_logs")
    .select(["sequence", "closed_at"])
    .where("timeline_id", "=", timelineId)
    .where("doomed_at", "is", null)
    .$if(before !== undefined, (query) => query.where("sequence", "<", before as number))
    .orderBy("sequence")
    .execute();

const doomLogs = (tx: Tx, timelineId: string, logs: readonly Log[], at: Date): Promise<unknown> =>
  tx
    .updateTable("binary_logs")
    .set({ doomed_at: at })
    .where("timeline_id", "=", timelineId)
    .where("sequence", "=", sql<number>`any(${logs.map(({ sequence }) => sequence)}::bigint[])`)
    .execute();

/** Deletes timelines that ended before a time, once nothing of them is left and none started from them. */
const deleteEmptyTimelines = (tx: Tx, { accountId, databaseId }: Owner, endedBefore: Date): Promise<unknown> =>
  tx
    .deleteFrom("timelines")
    .where("account_id", "=", accountId)
    .where("database_id", "=", databaseId)
    .where("ended_at", "<", endedBefore)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("copies").select("id").whereRef("copies.timeline_id", "=", "timelines.id"))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(selectFrom("binary_logs").select("sequence").whereRef("binary_logs.timeline_id", "=", "timelines.id")),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("backups").select("id").whereRef("backups.timeline_id", "=", "timelines.id"))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("lost_transactions").select("name").whereRef("lost_transactions.timeline_id", "=", "timelines.id"),
        ),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("timelines as child").select("child.id").whereRef("child.parent_id", "=", "timelines.id"))),
    )
    .execute();
