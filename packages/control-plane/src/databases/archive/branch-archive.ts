import { toTimestamp } from "@moorage/contract";
import { countMissing, formatGtidSet, gtidsOfGroup, parseGtidSet } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";
import { lockTimeline } from "../timeline-store.ts";
import { newestArchiveBranch, restorableGtids } from "./archive-end.ts";
import { texts } from "./texts.ts";

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
  await tx.updateTable("timelines").set({ last_log: sequence }).where("id", "=", timelineId).execute();
}

const ofTimeline = (timelineId: string, gtid: string) => gtidsOfGroup(parseGtidSet(gtid), timelineId);

/** What a cluster has left out since a time, for its tenant. */
export async function leftOutSince(tx: Tx, timelineId: string, since: Date): Promise<Text | undefined> {
  const branch = await newestArchiveBranch(tx, timelineId);
  if (branch === undefined || branch.at < since) return undefined;
  return texts.transactionsLeftOut({ count: branch.left_out, at: toTimestamp(branch.at) });
}
