import { toTimestamp } from "@moorage/contract";
import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import { type Page, type PageRequest, toPage } from "#platform/http/page.ts";

/** Every database that its tenant sees. */
export async function listDatabases(db: Db, page: PageRequest): Promise<Page<object>> {
  const there = db
    .selectFrom("databases")
    .leftJoin("clusters", "clusters.database_id", "databases.id")
    .select(["databases.id", "databases.account_id as account", "label", "region", "plan", "cluster_size as nodes"])
    // What is wrong with a cluster, and what to do about it.
    .select(["engine_version as engine", "status", "clusters.advice"])
    .where("deleted_at", "is", null);
  const { rows, results } = await listPage(there, { page, lastly: { by: "databases.id" } });
  return toPage(page, results, rows);
}

/** Databases that can be undeleted, the most urgent first. */
export async function listDeletedDatabases(db: Db, now: Date, page: PageRequest): Promise<Page<object>> {
  const kept = db
    .selectFrom("databases")
    .innerJoin("timelines", "timelines.id", "databases.timeline_id")
    .select(["databases.id", "databases.account_id", "databases.label", "databases.deleted_at", "databases.purge_at"])
    .select("timelines.archived_through")
    .where("databases.deleted_at", "is not", null)
    .where("databases.purge_at", ">", now);
  const { rows, results } = await listPage(kept, {
    page,
    lastly: { by: sql`(databases.purge_at, databases.id)` },
  });
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
