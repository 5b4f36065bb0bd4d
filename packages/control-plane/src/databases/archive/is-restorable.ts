import type { Tx } from "#platform/db/database.ts";
import { findTimeline } from "../model/timeline-store.ts";
import { findCopies, loadHistory } from "./history-store.ts";
import { copyBefore, type History, NotRestorable, planRestore } from "./recipe.ts";

/** Whether the archive has everything that a restore to this time needs. */
export async function isRestorable(tx: Tx, timelineId: string, until: Date): Promise<boolean> {
  try {
    planRestore(await historySinceCopy(tx, timelineId, until), { timeline: timelineId, until });
    return true;
  } catch (error) {
    if (error instanceof NotRestorable) return false;
    throw error;
  }
}

/** A timeline has a log for each minute of eight days. A restore needs only those since its copy, a day's. */
async function historySinceCopy(tx: Tx, timelineId: string, until: Date): Promise<History> {
  const copy = copyBefore(await findCopies(tx, [timelineId]), timelineId, until);
  if (copy === undefined) return loadHistory(tx, timelineId);
  const logs = await tx
    .selectFrom("binary_logs")
    .select(["timeline_id", "sequence", "closed_at"])
    .where("timeline_id", "=", timelineId)
    .where("sequence", ">=", copy.first_log)
    .where("doomed_at", "is", null)
    .orderBy("sequence")
    .execute();
  return { timelines: [await findTimeline(tx, timelineId)], copies: [copy], logs };
}
