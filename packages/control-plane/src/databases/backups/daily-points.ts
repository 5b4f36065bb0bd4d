import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { isRestorable } from "../archive/is-restorable.ts";
import { lockDatabase } from "../model/database-store.ts";
import { nextMidnight, type TimelineRow } from "../model/timeline-store.ts";
import { insertDailyPoint } from "./backup-store.ts";
import { applyRetention, type RetentionSettings } from "./apply-retention.ts";
import { reportMissingPoint, resolveMissingPoint } from "./report-missing-point.ts";

export const dailyPointSteps = ["worker.daily-point"] as const;
const BATCH = 500;

type DuePoint = Pick<TimelineRow, "account_id" | "database_id" | "id">;

/**
 * A daily backup is a row: a time before which every commit is archived, and which a restore can reach. An index holds
 * only the due ones, so databases whose day has not ended cost nothing.
 */
export const createDailyPointsJob = ({
  db,
  clock,
  eachDue,
  ...settings
}: { db: Db; clock: Clock; eachDue: EachDue } & RetentionSettings) => {
  const each = eachDue("dailyPoints", "timeline");
  return async (): Promise<void> => {
    const found = await duePoints(db, clock(), BATCH + each.skipped()).execute();
    await each.run(found, async (due) => {
      // A timeline whose archive was behind for days gets one point per day.
      while (await transact(db, "worker.daily-point", (tx) => addPoint(tx, due, settings, clock())));
    });
  };
};

export const duePoints = (db: Db | Tx, now: Date, limit: number) =>
  db
    .selectFrom("timelines")
    .select(["account_id", "database_id", "id"])
    .where("next_point_at", "<=", now)
    .whereRef("archived_through", ">=", "next_point_at")
    .orderBy("next_point_at")
    .limit(limit);

/**
 * Changes the row and the time of the next point together, under the database's lock. False: nothing is due any more.
 */
async function addPoint(tx: Tx, due: DuePoint, settings: RetentionSettings, now: Date): Promise<boolean> {
  const owner = { accountId: due.account_id, databaseId: due.database_id };
  const database = await lockDatabase(tx, owner.accountId, owner.databaseId);
  const timeline = await duePoints(tx, now, 1).where("id", "=", due.id).selectAll().forUpdate().executeTakeFirst();
  const at = timeline?.next_point_at;
  if (timeline === undefined || at === undefined || at === null) return false;
  const ended = database.deleted_at ?? timeline.ended_at;
  if (ended !== null && ended < at) {
    await setNextPoint(tx, timeline.id, null);
    return false;
  }
  if (timeline.created_at <= at && !(await isRestorable(tx, timeline.id, at)))
    await reportMissingPoint(tx, database, { timeline: timeline.id, at }, now);
  else if (timeline.created_at <= at) {
    await insertDailyPoint(tx, {
      account_id: owner.accountId,
      database_id: owner.databaseId,
      type: "auto",
      label: dailyLabel(at),
      timeline_id: timeline.id,
      copy_id: null,
      point_at: at,
      created_at: now,
    });
    await resolveMissingPoint(tx, database);
  }
  await setNextPoint(tx, timeline.id, nextMidnight(at));
  await applyRetention(tx, owner, settings, now);
  return true;
}

const dailyLabel = (at: Date): string => {
  const digits = at.toISOString().replaceAll(/\D/g, "");
  return `Scheduled-${digits.slice(0, 8)}-${digits.slice(8, 12)}`;
};

/** Tenants cannot use such a label: it would collide with a future daily backup. */
export const isDailyLabel = (label: string): boolean => /^Scheduled-\d{8}-\d{4}$/.test(label);

const setNextPoint = (tx: Tx, id: string, next_point_at: Date | null): Promise<unknown> =>
  tx.updateTable("timelines").set({ next_point_at }).where("id", "=", id).execute();
