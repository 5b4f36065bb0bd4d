import type { NodeSpec } from "@moorage/contract/agent";
import { type Selectable, sql } from "kysely";
import type { OperationRow } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { DatabaseRow } from "./database-store.ts";

const DAY_MS = 86_400_000;

export type TimelineRow = Selectable<Tables["timelines"]>;
type Owner = Pick<DatabaseRow, "account_id" | "id">;
/** The engine's prepared directory, a copy or a time of another timeline, or an unknown origin. */
export type Beginning =
  | { prepared: string }
  | { parent: string; copy: string }
  | { parent: string; until: Date }
  | "lost";

/** How often and when hosts archive; settings of the installation. */
export type ArchiveSettings = Omit<NonNullable<NodeSpec["archive"]>, "recipient" | "archiver">;
/** The current timeline of a database, and how it is archived. */
export type ArchiveContext = { timeline: TimelineRow; recipient: string; keep?: number; archive: ArchiveSettings };

/** The point that a fork starts from: a timeline of its source, as of a time; without one, everything committed. */
export type ForkInput = { fork: { timeline: string; until?: string } };

export const findTimeline = (db: Db | Tx, id: string): Promise<TimelineRow> =>
  db.selectFrom("timelines").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

/** The archive of the timeline does not change while the lock is held. */
export const lockTimeline = (tx: Tx, id: string): Promise<TimelineRow> =>
  tx.selectFrom("timelines").selectAll().where("id", "=", id).forUpdate().executeTakeFirstOrThrow(notFound);

/** The timeline that the database used at a time; its first one for a time before that. */
export const timelineAsOf = (db: Db | Tx, { account_id, id }: Owner, at: Date): Promise<TimelineRow | undefined> =>
  db
    .selectFrom("timelines")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .where((is) => is.or([is("ended_at", "is", null), is("ended_at", ">", at)]))
    // A restore starts the next timeline before the previous one ends: until then the previous one is in use.
    .orderBy("ordinal")
    .limit(1)
    .executeTakeFirst();

/** Undefined for a database whose nodes never had a spec. */
export async function findArchiveContext(
  tx: Tx,
  database: DatabaseRow,
  archive: ArchiveSettings,
): Promise<ArchiveContext | undefined> {
  if (database.timeline_id === null) return undefined;
  const timeline = await findTimeline(tx, database.timeline_id);
  const { recipient } = await tx
    .selectFrom("archives")
    .select("recipient")
    .where("account_id", "=", database.account_id)
    .where("database_id", "=", database.id)
    .executeTakeFirstOrThrow();
  return { timeline, recipient, archive };
}

/** Repeatable: a timeline starts once. No daily point is due on it before a database uses it. */
export async function insertTimeline(
  tx: Tx,
  database: Owner,
  { id, ordinal, from, at }: { id: string; ordinal?: number; from: Beginning; at: Date },
): Promise<void> {
  await tx
    .insertInto("timelines")
    .values({
      account_id: database.account_id,
      id,
      database_id: database.id,
      ordinal: ordinal ?? (await nextOrdinal(tx, database)),
      ...columnsOf(from),
      created_at: at,
      archived_through: at,
      next_point_at: null,
    })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
}

function columnsOf(from: Beginning) {
  const nothing = { prepared: null, parent_id: null, parent_copy_id: null, parent_until: null };
  if (from === "lost") return nothing;
  if ("prepared" in from) return { ...nothing, prepared: from.prepared };
  return "copy" in from
    ? { ...nothing, parent_id: from.parent, parent_copy_id: from.copy }
    : { ...nothing, parent_id: from.parent, parent_until: from.until };
}

/** Never reused: a host may still have the volume of that number. */
async function nextOrdinal(tx: Tx, { account_id, id }: Owner): Promise<number> {
  const { next } = await tx
    .selectFrom("timelines")
    .select(sql<number>`coalesce(max(ordinal), -1) + 1`.as("next"))
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .executeTakeFirstOrThrow();
  return next;
}

export const forkOf = ({ input }: OperationRow): ForkInput["fork"] | undefined => (input as Partial<ForkInput>).fork;

/** Where another timeline of the same data starts. */
export function sameBeginning({ parent_id, parent_copy_id, parent_until }: TimelineRow): Beginning {
  if (parent_id !== null && parent_copy_id !== null) return { parent: parent_id, copy: parent_copy_id };
  return parent_id !== null && parent_until !== null ? { parent: parent_id, until: parent_until } : "lost";
}

/** The database uses this timeline from now on: its first daily point is the next midnight. */
export const liveOn = (tx: Tx, id: string, now: Date): Promise<unknown> =>
  tx
    .updateTable("timelines")
    .set({ next_point_at: nextMidnight(now) })
    .where("id", "=", id)
    .execute();

/** The first 00:00:00 UTC after this time. */
export const nextMidnight = (after: Date): Date => new Date((Math.floor(after.getTime() / DAY_MS) + 1) * DAY_MS);

/** A deleted database gets no new restore points. */
export const stopDailyPoints = (tx: Tx, { account_id, id }: Owner): Promise<unknown> =>
  tx
    .updateTable("timelines")
    .set({ next_point_at: null })
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .execute();

/**
 * The database has left the timeline, so no new daily point is due. A timeline that was never used ends when it
 * started.
 */
export const endTimeline = (tx: Tx, id: string, at: Date | "unused"): Promise<unknown> =>
  tx
    .updateTable("timelines")
    .set({
      ended_at: at === "unused" ? sql<Date>`created_at` : at,
      // A point from before the end is still due when the archive has reached it.
      next_point_at: at === "unused" ? null : sql<Date | null>`case when next_point_at <= ${at} then next_point_at end`,
    })
    .where("id", "=", id)
    .where("ended_at", "is", null)
    .execute();

/** After a recovery of the control plane: logs that were reported since its backup are not known any more. */
export async function allowGaps(tx: Tx, { account_id, id }: Owner, at: Date): Promise<void> {
  const timelines = await tx
    .selectFrom("timelines")
    .select("id")
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .where("ended_at", "is", null)
    .execute();
  for (const timeline of timelines) await allowGap(tx, timeline.id, at);
}

/** The next log may come after logs that are not in the archive. */
export const allowGap = (tx: Tx, timelineId: string, at: Date): Promise<unknown> =>
  tx
    .updateTable("timelines")
    .set({
      gap_allowed: true,
      gap_from: sql<Date>`case when gap_allowed then gap_from else archived_through end`,
      ...copyNeeded(at),
    })
    .where("id", "=", timelineId)
    .execute();

/** Times from now on need a copy that is started after this time. */
export const copyNeeded = (at: Date) => ({ gap_at: at, copy_order_at: at });
