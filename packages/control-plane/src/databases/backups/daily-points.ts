import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { lockDatabase } from "../database-store.ts";
import type { TimelineRow } from "../timeline-store.ts";
import { applyRetention, type RetentionSettings } from "./apply-retention.ts";
import { insertDailyPoint } from "./backup-store.ts";
import { dailyLabel, nextMidnight } from "./daily-label.ts";

export const dailyPointSteps = ["worker.daily-point"] as const;
const BATCH = 500;

type DuePoint = Pick<TimelineRow, "account_id" | "database_id" | "id">;

/**
 * A daily backup is a row: a time before which every commit is archived. An index holds only the due ones, so databases
 * whose day has not ended cost nothing.
 */
export const createDailyPointsJob =
  ({ db, clock, ...settings }: { db: Db; clock: Clock } & RetentionSettings) =>
  async (): Promise<void> => {
    const faults: unknown[] = [];
    for (const due of await duePoints(db, clock(), BATCH).execute()) {
      try {
        // A timeline whose archive was behind for days gets one point per day.
        while (await transact(db, "worker.daily-point", (tx) => addPoint(tx, due, settings, clock())));
      } catch (error) {
        // A fault of one database must not cost the others their backups.
        faults.push(error);
      }
    }
    if (faults.length > 0) throw new AggregateError(faults, `${faults.length} daily backups could not be made`);
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
  if (timeline.created_at <= at)
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
  await setNextPoint(tx, timeline.id, nextMidnight(at));
  await applyRetention(tx, owner, settings, now);
  return true;
}

const setNextPoint = (tx: Tx, id: string, next_point_at: Date | null): Promise<unknown> =>
  tx.updateTable("timelines").set({ next_point_at }).where("id", "=", id).execute();
