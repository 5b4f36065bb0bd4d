import type { Tx } from "#platform/db/database.ts";
import { findTimeline } from "../model/timeline-store.ts";
import { type LoadedHistory, loadHistory } from "./history-store.ts";
import { NotRestorable, planRestore } from "./recipe.ts";

/** What a restore of everything that is archived brings back. `gtid`: null if no log or copy of the timeline is kept. */
export type NewestRestorable = { until: Date; gtid: string | null };

/**
 * The newest point of a timeline that can be restored, before the last gap if there is one. Undefined: nothing was
 * archived, or nothing of it can be restored. A timeline that nothing was archived of since it started from the engine's
 * prepared directory is empty, which is no backup of anything.
 */
export async function newestRestorable(tx: Tx, timelineId: string): Promise<NewestRestorable | undefined> {
  const history = await loadHistory(tx, timelineId);
  const { prepared, archived_through, last_log } = await findTimeline(tx, timelineId);
  const isOwn = ({ timeline_id }: { timeline_id: string }): boolean => timeline_id === timelineId;
  if (prepared !== null && last_log === 0 && !history.copies.some(isOwn)) return undefined;
  const closed = history.logs.filter(isOwn).map(({ closed_at }) => closed_at.getTime());
  const until = newestTime(history, timelineId, new Date(Math.max(archived_through.getTime(), ...closed)));
  if (until === undefined) return undefined;
  const { base, logs } = planRestore(history, { timeline: timelineId, until });
  return { until, gtid: logs.at(-1)?.log.gtid ?? (base.kind === "copy" ? base.copy.gtid : null) };
}

function newestTime(history: LoadedHistory, timeline: string, until: Date): Date | undefined {
  try {
    planRestore(history, { timeline, until });
    return until;
  } catch (error) {
    if (error instanceof NotRestorable) return error.ranges.at(-1)?.newest;
    throw error;
  }
}
