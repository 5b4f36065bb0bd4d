import { toTimestamp } from "@moorage/contract";
import type { Db } from "#platform/db/database.ts";
import { offsetOf, type Page, type PageRequest, toPage } from "#platform/http/page.ts";

/** Every database that its tenant sees. */
export async function listDatabases(db: Db, page: PageRequest): Promise<Page<object>> {
  const there = db.selectFrom("databases").where("deleted_at", "is", null);
  const rows = await there
    .select(["id", "account_id as account", "label", "region", "plan", "engine_version as engine", "status"])
    .orderBy("id")
    .limit(page.pageSize)
    .offset(offsetOf(page))
    .execute();
  const { results } = await there.select(({ fn }) => fn.countAll<number>().as("results")).executeTakeFirstOrThrow();
  return toPage(page, results, rows);
}

/** What can be brought back, the most urgent first. */
export async function listDeletedDatabases(db: Db, now: Date, page: PageRequest): Promise<Page<object>> {
  const kept = db
    .selectFrom("databases")
    .innerJoin("timelines", "timelines.id", "databases.timeline_id")
    .where("databases.deleted_at", "is not", null)
    .where("databases.purge_at", ">", now);
  const rows = await kept
    .select(["databases.id", "databases.account_id", "databases.label", "databases.deleted_at", "databases.purge_at"])
    .select("timelines.archived_through")
    .orderBy("databases.purge_at")
    .orderBy("databases.id")
    .limit(page.pageSize)
    .offset(offsetOf(page))
    .execute();
  const { results } = await kept.select(({ fn }) => fn.countAll<number>().as("results")).executeTakeFirstOrThrow();
  return toPage(
    page,
    results,
    rows.map(({ id, account_id, label, deleted_at, purge_at, archived_through }) => ({
      id,
      account: account_id,
      label,
      deleted: deleted_at === null ? null : toTimestamp(deleted_at),
      data_until: toTimestamp(archived_through),
      undelete_until: purge_at === null ? null : toTimestamp(purge_at),
    })),
  );
}
