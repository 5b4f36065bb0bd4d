import {
  type ArchiveEnd,
  formatGtidSet,
  type GtidSet,
  gtidsOfGroup,
  parseGtidSet,
  uniteGtidSets,
} from "@moorage/contract/agent";
import type { Db, Tx } from "#platform/db/database.ts";
import { lockTimeline, type TimelineRow } from "../timeline-store.ts";

type Timeline = Pick<TimelineRow, "id" | "last_log">;

/** The newest archive branch of a timeline: only logs after it belong to the history that the cluster has now. */
export const newestArchiveBranch = (db: Db | Tx, timelineId: string) =>
  db
    .selectFrom("archive_branches")
    .selectAll()
    .where("timeline_id", "=", timelineId)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();

/**
 * The transactions of a cluster that are in the logs of its timeline; the timeline's id is the name of its group. If
 * retention has deleted the last log, a copy contains all of its transactions.
 */
export async function archivedGtids(db: Db | Tx, { id, last_log }: Timeline): Promise<GtidSet> {
  if (last_log === 0) return new Map();
  const branch = await newestArchiveBranch(db, id);
  if (branch?.sequence === last_log) return parseGtidSet(branch.gtid);
  const last = await db
    .selectFrom("binary_logs")
    .select("gtid")
    .where("timeline_id", "=", id)
    .where("sequence", "=", last_log)
    .executeTakeFirst();
  const known = last ?? (await newestCopy(db, id, branch));
  return gtidsOfGroup(parseGtidSet(known?.gtid ?? ""), id);
}

/**
 * All transactions of a timeline that a restore can bring back, from its logs or its copies: the next primary must have
 * them. Locks the timeline, so that nothing is added before the primary is chosen.
 */
export async function restorableGtids(tx: Tx, timelineId: string): Promise<GtidSet> {
  const timeline = await lockTimeline(tx, timelineId);
  const copies = await copiesSince(tx, timelineId, await newestArchiveBranch(tx, timelineId))
    .select("gtid")
    .where("doomed_at", "is", null)
    .execute();
  const copied = copies.map(({ gtid }) => gtidsOfGroup(parseGtidSet(gtid), timelineId));
  return uniteGtidSets(await archivedGtids(tx, timeline), ...copied);
}

const copiesSince = (db: Db | Tx, timelineId: string, branch: { sequence: number } | undefined) =>
  db
    .selectFrom("copies")
    .where("timeline_id", "=", timelineId)
    .where("first_log", ">", branch?.sequence ?? 0);

const newestCopy = (db: Db | Tx, timelineId: string, branch: { sequence: number } | undefined) =>
  copiesSince(db, timelineId, branch)
    .select(["gtid", "ended_at"])
    .orderBy("ended_at", "desc")
    .limit(1)
    .executeTakeFirst();

export async function archiveEnd(db: Db | Tx, timeline: Timeline): Promise<ArchiveEnd> {
  const copy = await newestCopy(db, timeline.id, await newestArchiveBranch(db, timeline.id));
  return {
    gtid: formatGtidSet(await archivedGtids(db, timeline)),
    ...(copy === undefined ? {} : { newest_copy: copy.ended_at.toISOString() }),
  };
}
