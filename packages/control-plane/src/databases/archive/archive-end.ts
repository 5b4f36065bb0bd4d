import { toTimestamp } from "@moorage/contract";
import {
  type ArchiveEnd,
  countMissing,
  formatGtidSet,
  type GtidSet,
  gtidsOfGroup,
  parseGtidSet,
  uniteGtidSets,
} from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import type { Db, Tx } from "#platform/db/database.ts";
import { copyNeeded, lockTimeline, type TimelineRow } from "../model/timeline-store.ts";
import { texts } from "./texts.ts";

type Timeline = Pick<TimelineRow, "id" | "last_log">;

/**
 * The cluster continues with these transactions. If its archive has more, new transactions reuse the GTIDs of those
 * left out, so the archive branches: one log number is skipped, and no restore crosses from one history into the other.
 * A person has to accept that. Returns how many transactions are left out, and whether it was refused.
 */
export async function continueWith(
  tx: Tx,
  timelineId: string,
  gtid: string,
  { acceptsLoss, at }: { acceptsLoss: boolean; at: Date },
): Promise<{ leftOut: number; refused: boolean }> {
  const leftOut = countMissing(await restorableGtids(tx, timelineId), ofTimeline(timelineId, gtid));
  if (leftOut === 0) return { leftOut, refused: false };
  if (acceptsLoss) await branchArchive(tx, timelineId, { gtid, leftOut, at });
  return { leftOut, refused: !acceptsLoss };
}

async function branchArchive(
  tx: Tx,
  timelineId: string,
  { gtid, leftOut, at }: { gtid: string; leftOut: number; at: Date },
): Promise<void> {
  const sequence = (await lockTimeline(tx, timelineId)).last_log + 1;
  await tx
    .insertInto("archive_branches")
    .values({
      timeline_id: timelineId,
      sequence,
      left_out: leftOut,
      at,
      gtid: formatGtidSet(ofTimeline(timelineId, gtid)),
    })
    .execute();
  await tx
    .updateTable("timelines")
    .set({ last_log: sequence, ...copyNeeded(at) })
    .where("id", "=", timelineId)
    .execute();
}

const ofTimeline = (timelineId: string, gtid: string) => gtidsOfGroup(parseGtidSet(gtid), timelineId);

/**
 * What a cluster has left out and no event has reported to its tenant, whichever operation left it out: that one may
 * have failed, or another one overtook it. `failure`: why nothing continues yet.
 */
export async function unreportedLoss(tx: Tx, timelineId: string, failure?: Text): Promise<Text | undefined> {
  const losses = await unreportedLosses(tx, timelineId);
  if (losses.length === 0) return undefined;
  return failure === undefined
    ? texts.transactionsLeftOut({ losses })
    : texts.failedAfterAcceptedLoss({ failure: failure.text, losses });
}

export async function unreportedLosses(tx: Tx, timelineId: string): Promise<{ count: number; at: string }[]> {
  const branches = await tx
    .selectFrom("archive_branches")
    .select(["left_out", "at"])
    .where("timeline_id", "=", timelineId)
    .where("reported_at", "is", null)
    .orderBy("sequence")
    .execute();
  return branches.map(({ left_out, at }) => ({ count: left_out, at: toTimestamp(at) }));
}

/** Its tenant gets the event in the same transaction. */
export const markLossReported = (tx: Tx, timelineId: string, at: Date): Promise<unknown> =>
  tx
    .updateTable("archive_branches")
    .set({ reported_at: at })
    .where("timeline_id", "=", timelineId)
    .where("reported_at", "is", null)
    .execute();

export async function archiveEnd(db: Db | Tx, timeline: Timeline): Promise<ArchiveEnd> {
  const copy = await newestCopy(db, timeline.id, await newestArchiveBranch(db, timeline.id));
  return {
    gtid: formatGtidSet(await archivedGtids(db, timeline)),
    ...(copy === undefined ? {} : { newest_copy: copy.ended_at.toISOString() }),
  };
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

/** The newest archive branch of a timeline: only logs after it belong to the history that the cluster has now. */
export const newestArchiveBranch = (db: Db | Tx, timelineId: string) =>
  db
    .selectFrom("archive_branches")
    .selectAll()
    .where("timeline_id", "=", timelineId)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();

const newestCopy = (db: Db | Tx, timelineId: string, branch: { sequence: number } | undefined) =>
  copiesSince(db, timelineId, branch)
    .select(["gtid", "ended_at"])
    .orderBy("ended_at", "desc")
    .limit(1)
    .executeTakeFirst();

const copiesSince = (db: Db | Tx, timelineId: string, branch: { sequence: number } | undefined) =>
  db
    .selectFrom("copies")
    .where("timeline_id", "=", timelineId)
    .where("first_log", ">", branch?.sequence ?? 0);
