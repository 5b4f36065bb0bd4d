import type { Db, Tx } from "#platform/db/database.ts";

/** A timeline with all its ancestors, also of other databases, without objects marked for deletion. See `History`. */
export async function loadHistory(db: Db | Tx, timelineId: string) {
  const timelines = await db
    .withRecursive("lineage", (query) =>
      query
        .selectFrom("timelines")
        .selectAll()
        .where("id", "=", timelineId)
        .union(
          query
            .selectFrom("timelines")
            .innerJoin("lineage", "lineage.parent_id", "timelines.id")
            .selectAll("timelines"),
        ),
    )
    .selectFrom("lineage")
    .selectAll()
    .execute();
  const ids = timelines.map(({ id }) => id);
  if (ids.length === 0) return { timelines, copies: [], logs: [] };
  return { timelines, copies: await findCopies(db, ids), logs: await findLogs(db, ids) };
}
export type LoadedHistory = Awaited<ReturnType<typeof loadHistory>>;

/** All timelines of a database. */
export const findTimelinesOf = (db: Db | Tx, accountId: number, databaseId: number) =>
  db
    .selectFrom("timelines")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("database_id", "=", databaseId)
    .orderBy("ordinal")
    .execute();

export const findCopies = (db: Db | Tx, timelineIds: readonly string[]) =>
  db
    .selectFrom("copies")
    .selectAll()
    .where("timeline_id", "in", timelineIds)
    .where("doomed_at", "is", null)
    .orderBy("ended_at")
    .execute();

export const findLogs = (db: Db | Tx, timelineIds: readonly string[]) =>
  db
    .selectFrom("binary_logs")
    .selectAll()
    .where("timeline_id", "in", timelineIds)
    .where("doomed_at", "is", null)
    .orderBy("timeline_id")
    .orderBy("sequence")
    .execute();
