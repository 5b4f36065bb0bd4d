import {
  type ArchivedLog,
  countMissing,
  formatGtidSet,
  gtidsOfGroup,
  parseGtidSet,
  uniteGtidSets,
} from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { TimelineRow } from "../timeline-store.ts";
import { archivedGtids } from "./archive-end.ts";

/** The member's own logs begin after what the archive has: another must go on with it. */
export class LogsMissing extends DomainError {
  override readonly name = "LogsMissing";
  constructor(log: string, missing: number) {
    super("invalid", { reason: `${missing} transactions before ${log} are not in the archive.` });
  }
}

/**
 * The logs of members overlap, because each closes its own; what a restore meets twice the server skips. What counts is
 * that nothing is missing between: a log goes on from the archive if all that came before it is there. Undefined: it
 * adds nothing. A gap that is allowed is left in the numbers, where every restore sees it.
 */
export async function nextInTimeline(
  tx: Tx,
  timeline: TimelineRow,
  { name, previous = "", gtid, closed_at }: ArchivedLog,
): Promise<{ sequence: number; gtid: string; closed_at: Date } | undefined> {
  if (!/^binlog\.\d{6,}\.[0-9a-f]{16}$/.test(name))
    throw new DomainError("invalid", { reason: `${name} is not the name of a member's binary log.` });
  const archived = await archivedGtids(tx, timeline);
  const ofGroup = (text: string) => gtidsOfGroup(parseGtidSet(text), timeline.id);
  const missing = countMissing(ofGroup(previous), archived);
  if (missing > 0 && !timeline.gap_allowed) throw new LogsMissing(name, missing);
  if (countMissing(ofGroup(gtid), archived) === 0) return undefined;
  const last = await tx
    .selectFrom("binary_logs")
    .select("closed_at")
    .where("timeline_id", "=", timeline.id)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
  return {
    sequence: timeline.last_log + (missing > 0 ? 2 : 1),
    gtid: formatGtidSet(uniteGtidSets(archived, ofGroup(gtid))),
    // Clocks differ; a later log never ends before an earlier one.
    closed_at: new Date(Math.max(Date.parse(closed_at), last?.closed_at.getTime() ?? 0)),
  };
}
