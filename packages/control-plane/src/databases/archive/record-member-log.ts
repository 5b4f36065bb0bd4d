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
import type { TimelineRow } from "../model/timeline-store.ts";
import { archivedGtids } from "./archive-end.ts";
import { texts } from "./texts.ts";

/** The member's logs start after the end of the archive: another member must continue it. */
export class LogsMissing extends DomainError {
  override readonly name = "LogsMissing";
  constructor(log: string, missing: number) {
    super("invalid", { reason: texts.logsMissing({ log, missing }) });
  }
}

/**
 * The logs of members overlap, because each member rotates its own; a restoring server skips transactions that it has.
 * A log continues the archive if everything before it is archived. Undefined: it adds nothing. An allowed gap leaves a
 * gap in the numbers, which every restore notices.
 */
export async function nextInTimeline(
  tx: Tx,
  timeline: TimelineRow,
  { name, previous = "", gtid, closed_at }: ArchivedLog,
): Promise<{ sequence: number; gtid: string; closed_at: Date } | undefined> {
  if (!/^binlog\.\d{6,}\.[0-9a-f]{16}$/.test(name))
    throw new DomainError("invalid", { reason: texts.memberLogName({ name }) });
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
    // Clocks differ; a later log must not end before an earlier one.
    closed_at: new Date(Math.max(Date.parse(closed_at), last?.closed_at.getTime() ?? 0)),
  };
}
