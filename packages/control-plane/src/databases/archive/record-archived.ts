import {
  type ArchivedCopy,
  type ArchivedLog,
  type ArchivedReply,
  type ArchivedRequest,
  countMissing,
  gtidsOfGroup,
  parseGtidSet,
  PROTOCOL,
} from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { sql } from "kysely";
import { findServedNode } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Objects } from "#platform/objects.ts";
import { sha256 } from "#platform/sha256.ts";
import { lockTimeline, type TimelineRow } from "../model/timeline-store.ts";
import { markUnfit } from "../spec/archiver-store.ts";
import { archiveEnd, newestArchiveBranch } from "./archive-end.ts";
import { manifestOf, objectKey } from "./object-names.ts";
import { LogsMissing, nextInTimeline } from "./record-member-log.ts";
import { texts } from "./texts.ts";

type Deps = { db: Db; clock: Clock; objects: Objects };
type ArchiveReport = ArchivedRequest["nodes"][number];

/** A host's clock may be slightly ahead of ours; a restore point must not be in the future. */
const AHEAD_MS = 60_000;

/**
 * Turns hosts' reports about the object store into rows, from which restores are planned. A repeated report changes
 * nothing. A refusal for one node does not hold up the others; it is returned at the end.
 */
export async function recordArchived(deps: Deps, hostId: number, { nodes }: ArchivedRequest): Promise<ArchivedReply> {
  const refusals: DomainError[] = [];
  const ends: NonNullable<ArchivedReply["nodes"]> = [];
  for (const report of nodes) {
    await recordOne(deps, hostId, report).then(
      (end) => end && ends.push(end),
      async (error: unknown) => {
        if (!(error instanceof DomainError)) throw error;
        if (error instanceof LogsMissing) await markUnfit(deps.db, report.timeline, report.node, deps.clock());
        refusals.push(error);
      },
    );
  }
  if (refusals[0] !== undefined) throw refusals[0];
  return { protocol: PROTOCOL, ...(ends.length === 0 ? {} : { nodes: ends }) };
}

type End = NonNullable<ArchivedReply["nodes"]>[number];

/** Returns the end of the archive if other members may continue it too. */
async function recordOne(
  { db, clock, objects }: Deps,
  hostId: number,
  report: ArchiveReport,
): Promise<End | undefined> {
  const { copies = [], logs = [], through, node } = report;
  const { isMember, ...owner } = await ownerOf(db, hostId, report);
  for (const copy of copies) await requireWhole(objects, owner, copy);

  return transact(db, "fleet.archived", async (tx) => {
    const timeline = await lockTimeline(tx, owner.id);
    if (copies.length + logs.length > 0 || through !== undefined) await requireNewestTerm(tx, hostId, report);
    for (const log of logs) await recordLog(tx, timeline, log);
    for (const copy of copies) await recordCopy(tx, timeline, copy);
    // Forgotten logs may come before these: only a newly reported log shows that none is missing, or a copy replaces them.
    if (through !== undefined && (!timeline.gap_allowed || (await findCopiesSinceGap(tx, timeline)).length > 0))
      await advance(tx, timeline, timeOf(through), clock());
    return isMember ? { node, timeline: timeline.id, ...(await archiveEnd(tx, timeline)) } : undefined;
  });
}

/**
 * A timeline of one of the host's nodes. It may be one that the database has left, because its last logs may be
 * reported late.
 */
async function ownerOf(db: Db, hostId: number, { node, timeline }: ArchiveReport) {
  const { account_id, database_id, desired_spec } = await findServedNode(db, hostId, node);
  const owner = await db
    .selectFrom("timelines")
    .select(["account_id", "database_id", "id"])
    .where("id", "=", timeline)
    .where("account_id", "=", account_id)
    .where("database_id", "=", database_id)
    .executeTakeFirstOrThrow(notFound);
  return { ...owner, isMember: desired_spec?.cluster !== undefined };
}

/**
 * What a member received from a former primary may be lost transactions, which must not come back from the archive. The
 * timeline is locked, as it is when another primary is chosen (`restorableGtids`).
 */
async function requireNewestTerm(tx: Tx, hostId: number, { node, term }: ArchiveReport): Promise<void> {
  const { desired_spec } = await findServedNode(tx, hostId, node);
  if (term !== desired_spec?.cluster?.primary?.term) throw refused(texts.primaryChanged());
}

/** A copy that is reported long after its upload may have been deleted as unfinished. */
async function requireWhole(objects: Objects, timeline: Parameters<typeof objectKey>[0], copy: ArchivedCopy) {
  const manifest = await objects.get(objectKey(timeline, manifestOf(copy.id)));
  if (manifest === undefined || sha256(manifest).toString("hex") !== copy.manifest_sha256)
    throw refused(texts.copyNotStored({ copy: copy.id }));
}

/** The last report counts: a host that died before the acknowledgement may have uploaded the copy again. */
async function recordCopy(tx: Tx, timeline: TimelineRow, copy: ArchivedCopy): Promise<void> {
  const [started_at, ended_at] = [timeOf(copy.started_at), timeOf(copy.ended_at)];
  if (started_at > ended_at) throw refused(texts.copyEndsBeforeStart({ copy: copy.id }));
  const { gtid, bytes, parts, manifest_sha256 } = copy;
  const columns = { started_at, ended_at, gtid, bytes, parts, manifest_sha256 };
  const first_log = await firstLogAfter(tx, timeline, copy);
  const written = await tx
    .insertInto("copies")
    .values({ account_id: timeline.account_id, id: copy.id, timeline_id: timeline.id, first_log, ...columns })
    .onConflict((conflict) =>
      conflict
        .column("id")
        .doUpdateSet({ first_log, ...columns })
        .where("copies.timeline_id", "=", timeline.id),
    )
    .returning("id")
    .executeTakeFirst();
  if (written === undefined) throw refused(texts.copyOfOtherTimeline({ copy: copy.id }));
  const branch = await newestArchiveBranch(tx, timeline.id);
  if (timeline.gap_at === null || started_at < timeline.gap_at || first_log <= (branch?.sequence ?? 0)) return;
  await tx.updateTable("timelines").set({ copy_order_at: null }).where("id", "=", timeline.id).execute();
}

/** Copies that have everything from before a gap which was allowed. */
const findCopiesSinceGap = (tx: Tx, { id, gap_at }: TimelineRow) =>
  tx
    .selectFrom("copies")
    .select(["id", "gtid", "first_log"])
    .where("timeline_id", "=", id)
    .where("doomed_at", "is", null)
    .where("started_at", ">=", gap_at)
    .execute();

/**
 * The log is the next one after these copies, though not after the last log: a restore goes on with it. A member's log
 * may start later than the copy, whose own server made another one.
 */
async function continueCopies(tx: Tx, timeline: TimelineRow, sequence: number, previous?: string): Promise<void> {
  if (!timeline.gap_allowed || sequence === timeline.last_log + 1) return;
  const started = gtidsOfGroup(parseGtidSet(previous ?? ""), timeline.id);
  const continued = (await findCopiesSinceGap(tx, timeline)).filter(
    ({ gtid, first_log }) => first_log === timeline.last_log + 1 && countMissing(started, parseGtidSet(gtid)) === 0,
  );
  for (const { id } of continued)
    await tx.updateTable("copies").set({ first_log: sequence }).where("id", "=", id).execute();
}

/**
 * Logs that were closed before the copy started are in it. Logs without a row are older than all that have one. After
 * an archive branch, a copy belongs to the new history if it has everything that the cluster continued with.
 */
async function firstLogAfter(tx: Tx, timeline: TimelineRow, { started_at, gtid }: ArchivedCopy): Promise<number> {
  const first = await firstClosedAfter(tx, timeline, timeOf(started_at));
  const branch = await newestArchiveBranch(tx, timeline.id);
  if (branch === undefined) return first;
  const hasAll = countMissing(parseGtidSet(branch.gtid), parseGtidSet(gtid)) === 0;
  return hasAll ? Math.max(first, branch.sequence + 1) : Math.min(first, branch.sequence);
}

async function firstClosedAfter(tx: Tx, { id, last_log }: TimelineRow, startedAt: Date): Promise<number> {
  const { first, passed } = await tx
    .selectFrom("binary_logs")
    .where("timeline_id", "=", id)
    .select(({ fn }) => [
      fn.min<number | null>("sequence").as("first"),
      fn.max<number | null>("sequence").filterWhere("closed_at", "<", startedAt).as("passed"),
    ])
    .executeTakeFirstOrThrow();
  return passed !== null ? passed + 1 : (first ?? last_log + 1);
}

/** In order and without gaps: a gap would make every later time impossible to restore. */
async function recordLog(tx: Tx, timeline: TimelineRow, log: ArchivedLog): Promise<void> {
  if (log.previous !== undefined) return recordMemberLog(tx, timeline, log);
  if (Number(/^binlog\.(\d{6,})$/.exec(log.name)?.[1]) !== log.sequence)
    throw refused(texts.logName({ name: log.name, sequence: log.sequence }));
  if (log.sequence <= timeline.last_log) return recordAgain(tx, timeline, log);
  if (log.sequence !== timeline.last_log + 1 && !timeline.gap_allowed)
    throw refused(texts.logMissing({ missing: timeline.last_log + 1, sequence: log.sequence }));
  return addLog(tx, timeline, log, { ...log, closed_at: timeOf(log.closed_at) });
}

/** A log that was reported before is known by its name: its number on the member's own server differs. */
async function recordMemberLog(tx: Tx, timeline: TimelineRow, log: ArchivedLog): Promise<void> {
  timeOf(log.closed_at);
  const known = await tx
    .updateTable("binary_logs")
    .set({ bytes: log.bytes, sha256: log.sha256 })
    .where("timeline_id", "=", timeline.id)
    .where("name", "=", log.name)
    .returning("sequence")
    .executeTakeFirst();
  const next = known === undefined ? await nextInTimeline(tx, timeline, log) : undefined;
  if (next !== undefined) await addLog(tx, timeline, log, next);
}

async function addLog(
  tx: Tx,
  timeline: TimelineRow,
  { name, bytes, sha256: sum, previous }: Pick<ArchivedLog, "name" | "bytes" | "sha256" | "previous">,
  { sequence, gtid, closed_at }: { sequence: number; gtid: string; closed_at: Date },
): Promise<void> {
  await tx
    .insertInto("binary_logs")
    .values({
      account_id: timeline.account_id,
      timeline_id: timeline.id,
      sequence,
      name,
      closed_at,
      gtid,
      bytes,
      sha256: sum,
    })
    .execute();
  await continueCopies(tx, timeline, sequence, previous);
  Object.assign(timeline, { last_log: sequence, gap_allowed: false });
  await tx
    .updateTable("timelines")
    .set({ last_log: sequence, gap_allowed: false })
    .where("id", "=", timeline.id)
    .execute();
  await tx
    .updateTable("copies")
    .set({ first_log: sequence + 1 })
    .where("timeline_id", "=", timeline.id)
    .where("started_at", ">", closed_at)
    .where("first_log", "<=", sequence)
    .where("first_log", ">", (await newestArchiveBranch(tx, timeline.id))?.sequence ?? 0)
    .execute();
}

/**
 * After another upload the SHA-256 differs, because each encryption has a key of its own; the contents are the same.
 */
async function recordAgain(tx: Tx, timeline: TimelineRow, log: ArchivedLog): Promise<void> {
  const known = await tx
    .selectFrom("binary_logs")
    .select("gtid")
    .where("timeline_id", "=", timeline.id)
    .where("sequence", "=", log.sequence)
    .executeTakeFirst();
  if (known === undefined) return;
  if (known.gtid !== log.gtid) throw refused(texts.logDiffers({ sequence: log.sequence }));
  await tx
    .updateTable("binary_logs")
    .set({ bytes: log.bytes, sha256: log.sha256 })
    .where("timeline_id", "=", timeline.id)
    .where("sequence", "=", log.sequence)
    .execute();
}

async function advance(tx: Tx, { id }: TimelineRow, through: Date, now: Date): Promise<void> {
  if (through.getTime() > now.getTime() + AHEAD_MS) throw refused(texts.clockAhead());
  await tx
    .updateTable("timelines")
    .set({ archived_through: sql<Date>`greatest(archived_through, ${through}::timestamptz)` })
    .where("id", "=", id)
    .execute();
}

function timeOf(value: string): Date {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) throw refused(texts.notATime({ value }));
  return time;
}

const refused = (reason: Text): DomainError => new DomainError("invalid", { reason });
