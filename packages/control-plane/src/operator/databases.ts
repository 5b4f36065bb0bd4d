import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { Database, DeletedDatabase } from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import {
  adviceOnHost,
  findWithoutHost,
  forceBootstrap,
  listLostTransactions,
  undeleteDatabase,
} from "#databases/index.ts";
import type { Db } from "#platform/db/database.ts";
import { listPage, type Page, type PageRequest, toPage } from "#platform/http/page.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";

export type DatabaseCommandDeps = CommandDeps & { restoreDeadlineSeconds: number };

export function databaseCommands(app: FastifyInstance, deps: DatabaseCommandDeps): void {
  const { db, clock, restoreDeadlineSeconds: deadlineSeconds } = deps;

  operatorRoute(app, contract.listDatabases, ({ page }) => listDatabases(db, clock(), page));
  operatorRoute(app, contract.listDeletedDatabases, ({ page }) => listDeletedDatabases(db, clock(), page));

  operatorRoute(app, contract.listLostTransactions, async ({ params }) => ({
    data: await listLostTransactions(db, params.databaseId),
  }));

  const undelete: Run<typeof contract.undeleteDatabase> = async (tx, { params: { databaseId: id } }) => {
    const {
      account_id: account,
      label,
      status,
      data_until,
    } = await undeleteDatabase(tx, id, {
      at: clock(),
      deadlineSeconds,
    });
    return { id, account, label, status, data_until };
  };
  command(app, deps, contract.undeleteDatabase, undelete, "relay");

  const bootstrap: Run<typeof contract.bootstrapDatabase> = async (tx, { params: { databaseId: id }, body }) => {
    const options = { at: clock(), deadlineSeconds, acceptsLoss: body.accept_loss };
    return { id, ...(await forceBootstrap(tx, id, options)) };
  };
  command(app, deps, contract.bootstrapDatabase, bootstrap, "relay", "host");
}

/** Every database that its tenant sees. */
async function listDatabases(db: Db, now: Date, page: PageRequest): Promise<Page<Database>> {
  const there = db
    .selectFrom("databases")
    .leftJoin("clusters", "clusters.database_id", "databases.id")
    .select(["databases.id", "databases.account_id as account", "label", "region", "plan", "cluster_size as nodes"])
    .select(["engine_version as engine", "status", "clusters.advice"])
    .where("deleted_at", "is", null);
  const { rows, results } = await listPage(there, { page, lastly: { by: "databases.id" } });
  const ids = rows.map(({ id }) => id);
  const without = new Map((await findWithoutHost(db, ids, now)).map((each) => [each.id, adviceOnHost(each).text]));
  return toPage(
    page,
    results,
    rows.map((row) => ({ ...row, advice: row.advice ?? without.get(row.id) ?? null })),
  );
}

/** Databases that can be undeleted, the most urgent first. */
async function listDeletedDatabases(db: Db, now: Date, page: PageRequest): Promise<Page<DeletedDatabase>> {
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
