import type { Selectable } from "kysely";
import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { DueRows, EachDue } from "#platform/each-due.ts";
import type { Locked, PurgingStore } from "#platform/purging-store.ts";
import { copyFolder, copyOfKey, logOf, manifestOf, objectKey, lostTransactionsFolder } from "./object-names.ts";

type Deps = { db: Db; clock: Clock; archivePurge: PurgingStore; eachDue: EachDue };
type Timeline = Pick<Selectable<Tables["timelines"]>, "account_id" | "database_id" | "id">;

export const objectsSteps = ["worker.delete-copy", "worker.delete-logs", "worker.sweep-timeline"] as const;

/** Per round; the next round continues. */
const COPIES = 20;
const LOGS = 5000;
const TIMELINES = 50;
const DAY_MS = 86_400_000;
/** A copy in progress gets a part every few seconds, and is reported shortly after its last one. */
const UNFINISHED_MS = 2 * DAY_MS;
/** Longer than lost transactions are kept: a host may report them late. */
const UNREPORTED_LOST_MS = 8 * DAY_MS;

/**
 * Deletes objects that nothing needs any more: first the objects, then their rows, so that the next round finds what a
 * crash left behind.
 */
export const createObjectsJob = (deps: Deps) => {
  const copies = deps.eachDue("objects", "copy");
  const logs = deps.eachDue("objects", "logsOfTimeline");
  const timelines = deps.eachDue("objects", "timeline");
  return async (): Promise<void> => {
    await deleteCopies(deps, copies);
    await deleteLogs(deps, logs);
    await sweepTimelines(deps, timelines);
  };
};

/** A host that got addresses before the object was marked for deletion may still read it. */
const readable = ({ clock, archivePurge }: Deps): Date => new Date(clock().getTime() - archivePurge.getSeconds * 1000);

/** The store keeps it until then: it counts as marked so late that its turn comes at that time. */
const dueAfter = ({ clock, archivePurge }: Deps, { until }: Locked): Date =>
  new Date(Math.max(until.getTime() - archivePurge.getSeconds * 1000, clock().getTime()));

async function deleteCopies(deps: Deps, each: DueRows): Promise<void> {
  const { db, archivePurge } = deps;
  const doomed = await db
    .selectFrom("copies")
    .innerJoin("timelines", "timelines.id", "copies.timeline_id")
    .select(["copies.id", "timeline_id", "timelines.account_id", "timelines.database_id"])
    .where("copies.doomed_at", "<=", readable(deps))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("backups").select("backups.id").whereRef("backups.copy_id", "=", "copies.id"))),
    )
    .orderBy("copies.doomed_at")
    .limit(COPIES + each.skipped())
    .execute();
  await each.run(doomed, ({ id, timeline_id, ...owner }) =>
    step("worker.delete-copy", async () => {
      const locked = await archivePurge.deleteAll(objectKey({ ...owner, id: timeline_id }, copyFolder(id)));
      if (locked !== undefined)
        return db
          .updateTable("copies")
          .set({ doomed_at: dueAfter(deps, locked) })
          .where("id", "=", id)
          .where("doomed_at", "is not", null)
          .execute();
      return db.deleteFrom("copies").where("id", "=", id).where("doomed_at", "is not", null).execute();
    }),
  );
}

/** A timeline may have thousands: those of others get their turn even if the first ones cannot be deleted. */
async function deleteLogs(deps: Deps, each: DueRows): Promise<void> {
  const { db, archivePurge } = deps;
  const doomed = await db
    .selectFrom("binary_logs")
    .innerJoin("timelines", "timelines.id", "binary_logs.timeline_id")
    .select(["timelines.id", "timelines.account_id", "timelines.database_id"])
    .where("doomed_at", "<=", readable(deps))
    .groupBy("timelines.id")
    .orderBy(({ fn }) => fn.min("doomed_at"))
    .limit(TIMELINES + each.skipped())
    .execute();
  await each.run(doomed, (timeline) =>
    step("worker.delete-logs", async () => {
      const logs = await db
        .selectFrom("binary_logs")
        .select(["name", "sequence"])
        .where("timeline_id", "=", timeline.id)
        .where("doomed_at", "<=", readable(deps))
        .orderBy("doomed_at")
        .limit(LOGS)
        .execute();
      const keyOf = ({ name }: { name: string }): string => objectKey(timeline, logOf(name));
      const locked = await archivePurge.deleteMany(logs.map(keyOf));
      const { stay = [], gone = [] } = Object.groupBy(logs, (log) => (locked?.keys.has(keyOf(log)) ? "stay" : "gone"));
      const sequences = (some: typeof logs): number[] => some.map(({ sequence }) => sequence);
      if (gone.length > 0)
        await db
          .deleteFrom("binary_logs")
          .where("timeline_id", "=", timeline.id)
          .where("sequence", "in", sequences(gone))
          .where("doomed_at", "is not", null)
          .execute();
      if (locked !== undefined)
        await db
          .updateTable("binary_logs")
          .set({ doomed_at: dueAfter(deps, locked) })
          .where("timeline_id", "=", timeline.id)
          .where("sequence", "in", sequences(stay))
          .where("doomed_at", "is not", null)
          .execute();
    }),
  );
}

/**
 * Once a day per timeline: parts of unfinished copies, and lost transactions that were never reported. What is under
 * retention is deleted on a later day.
 */
async function sweepTimelines(deps: Deps, each: DueRows): Promise<void> {
  const { db, clock } = deps;
  const due = await db
    .selectFrom("timelines")
    .select(["id", "account_id", "database_id"])
    .where("swept_at", "<=", new Date(clock().getTime() - DAY_MS))
    .orderBy("swept_at")
    .limit(TIMELINES + each.skipped())
    .execute();
  await each.run(due, (timeline) =>
    step("worker.sweep-timeline", async () => {
      await deleteUnfinished(deps, timeline);
      await deleteUnreportedLost(deps, timeline);
      await db.updateTable("timelines").set({ swept_at: clock() }).where("id", "=", timeline.id).execute();
    }),
  );
}

async function deleteUnfinished({ db, clock, archivePurge }: Deps, timeline: Timeline): Promise<void> {
  const newest = new Map<string, Date>();
  for await (const page of archivePurge.list(objectKey(timeline, "copies/")))
    for (const { key, at } of page) {
      const id = copyOfKey(key);
      if (id !== undefined && at > (newest.get(id) ?? new Date(0))) newest.set(id, at);
    }
  if (newest.size === 0) return;
  const known = await db.selectFrom("copies").select("id").where("timeline_id", "=", timeline.id).execute();
  for (const { id } of known) newest.delete(id);
  for (const [id, at] of newest) {
    if (at.getTime() > clock().getTime() - UNFINISHED_MS) continue;
    // The manifest first, so that the copy cannot be reported any more while its parts are deleted.
    const locked = await archivePurge.deleteMany([objectKey(timeline, manifestOf(id))]);
    if (locked === undefined) await archivePurge.deleteAll(objectKey(timeline, copyFolder(id)));
  }
}

/** Lost transactions that were reported have a row, and are deleted with it. */
async function deleteUnreportedLost({ db, clock, archivePurge }: Deps, timeline: Timeline): Promise<void> {
  const old: string[] = [];
  for await (const page of archivePurge.list(objectKey(timeline, lostTransactionsFolder)))
    for (const { key, at } of page) if (at.getTime() <= clock().getTime() - UNREPORTED_LOST_MS) old.push(key);
  if (old.length === 0) return;
  const reported = await db
    .selectFrom("lost_transactions")
    .select("name")
    .where("timeline_id", "=", timeline.id)
    .execute();
  const kept = new Set(reported.map(({ name }) => objectKey(timeline, name)));
  await archivePurge.deleteMany(old.filter((key) => !kept.has(key)));
}
