import type { Selectable } from "kysely";
import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Objects } from "#platform/objects.ts";
import { copyFolder, copyOfKey, logOf, manifestOf, objectKey, lostTransactionsFolder } from "./object-names.ts";

type Deps = { db: Db; clock: Clock; objects: Objects };
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
 * crash left behind. Throws while the object store is unavailable; the next round continues.
 */
export const createObjectsJob = (deps: Deps) => async (): Promise<void> => {
  await deleteCopies(deps);
  await deleteLogs(deps);
  await sweepTimelines(deps);
};

/** A host that got addresses before the object was marked for deletion may still read it. */
const readable = ({ clock, objects }: Deps): Date => new Date(clock().getTime() - objects.getSeconds * 1000);

async function deleteCopies(deps: Deps): Promise<void> {
  const { db, objects } = deps;
  const doomed = await db
    .selectFrom("copies")
    .innerJoin("timelines", "timelines.id", "copies.timeline_id")
    .select(["copies.id as copyId", "timelines.id", "timelines.account_id", "timelines.database_id"])
    .where("copies.doomed_at", "<=", readable(deps))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("backups").select("backups.id").whereRef("backups.copy_id", "=", "copies.id"))),
    )
    .orderBy("copies.doomed_at")
    .limit(COPIES)
    .execute();
  for (const { copyId, ...timeline } of doomed)
    await step("worker.delete-copy", async () => {
      await objects.deleteAll(objectKey(timeline, copyFolder(copyId)));
      await db.deleteFrom("copies").where("id", "=", copyId).where("doomed_at", "is not", null).execute();
    });
}

async function deleteLogs(deps: Deps): Promise<void> {
  const { db, objects } = deps;
  const doomed = await db
    .selectFrom("binary_logs")
    .innerJoin("timelines", "timelines.id", "binary_logs.timeline_id")
    .select(["name", "sequence", "timelines.id", "timelines.account_id", "timelines.database_id"])
    .where("doomed_at", "<=", readable(deps))
    .orderBy("doomed_at")
    .limit(LOGS)
    .execute();
  for (const [id, logs] of Map.groupBy(doomed, (log) => log.id))
    await step("worker.delete-logs", async () => {
      await objects.deleteMany(logs.map(({ name, ...timeline }) => objectKey(timeline, logOf(name))));
      await db
        .deleteFrom("binary_logs")
        .where("timeline_id", "=", id)
        .where(
          "sequence",
          "in",
          logs.map(({ sequence }) => sequence),
        )
        .where("doomed_at", "is not", null)
        .execute();
    });
}

/** Once a day per timeline: parts of unfinished copies, and lost transactions that were never reported. */
async function sweepTimelines(deps: Deps): Promise<void> {
  const { db, clock } = deps;
  const due = await db
    .selectFrom("timelines")
    .select(["id", "account_id", "database_id"])
    .where("swept_at", "<=", new Date(clock().getTime() - DAY_MS))
    .orderBy("swept_at")
    .limit(TIMELINES)
    .execute();
  for (const timeline of due)
    await step("worker.sweep-timeline", async () => {
      await deleteUnfinished(deps, timeline);
      await deleteUnreportedLost(deps, timeline);
      await db.updateTable("timelines").set({ swept_at: clock() }).where("id", "=", timeline.id).execute();
    });
}

async function deleteUnfinished({ db, clock, objects }: Deps, timeline: Timeline): Promise<void> {
  const newest = new Map<string, Date>();
  for await (const page of objects.list(objectKey(timeline, "copies/")))
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
    await objects.deleteMany([objectKey(timeline, manifestOf(id))]);
    await objects.deleteAll(objectKey(timeline, copyFolder(id)));
  }
}

/** Lost transactions that were reported have a row, and are deleted with it. */
async function deleteUnreportedLost({ db, clock, objects }: Deps, timeline: Timeline): Promise<void> {
  const old: string[] = [];
  for await (const page of objects.list(objectKey(timeline, lostTransactionsFolder)))
    for (const { key, at } of page) if (at.getTime() <= clock().getTime() - UNREPORTED_LOST_MS) old.push(key);
  if (old.length === 0) return;
  const reported = await db
    .selectFrom("lost_transactions")
    .select("name")
    .where("timeline_id", "=", timeline.id)
    .execute();
  const kept = new Set(reported.map(({ name }) => objectKey(timeline, name)));
  await objects.deleteMany(old.filter((key) => !kept.has(key)));
}
