import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import pg from "pg";
import { mayView, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { prepare } from "#platform/db/prepare.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

export type DatabaseRow = Selectable<Tables["databases"]>;

/** With what the view needs from the plan, the engine and the nodes. */
const databasesToView = (db: Db | Tx) =>
  db
    .selectFrom("databases")
    .innerJoin("plans", "plans.id", "databases.plan")
    .innerJoin("engine_versions", "engine_versions.id", "databases.engine_version")
    .select(["databases.id", "databases.label", "databases.region", "databases.plan", "databases.cluster_size"])
    .select(["databases.replication_type", "databases.encrypted", "databases.ssl_connection", "databases.allow_list"])
    .select(["databases.status", "databases.updates", "databases.port", "databases.dns_published_at"])
    .select(["databases.created_at", "databases.updated_at", "databases.timeline_id"])
    .select(["databases.fork_source", "databases.fork_restore_time"])
    .select(["databases.image", "databases.patch_due_at", "engine_versions.image as newest_image"])
    .select(["plans.disk_mb", "engine_versions.engine", "engine_versions.version"])
    .select((query) =>
      query
        .selectFrom("nodes")
        .whereRef("nodes.account_id", "=", "databases.account_id")
        .whereRef("nodes.database_id", "=", "databases.id")
        .where("nodes.released_at", "is", null)
        .select(sql<number | null>`max(used_disk_mb)`.as("used"))
        .as("used_disk_mb"),
    );

export type DatabaseToView = Awaited<ReturnType<typeof findDatabase>>;

/** A deleted database is gone for its tenant at once, whatever its hosts still do. */
const databaseToView = (db: Db | Tx, accountId: number, id: number) =>
  databasesToView(db)
    .where("databases.account_id", "=", accountId)
    .where("databases.id", "=", id)
    .where("databases.deleted_at", "is", null);

const preparedToView = prepare("database-to-view", (db, { accountId, id }: { accountId: number; id: number }) =>
  databaseToView(db, accountId, id),
);

export async function findDatabase(db: Db, accountId: number, id: number) {
  const [row] = await preparedToView(db, { accountId, id });
  if (row === undefined) throw notFound();
  return row;
}

const columns = {
  label: sql.ref("databases.label"),
  type: sql.ref("databases.plan"),
  engine: sql.ref("engine_versions.engine"),
  version: sql.ref("engine_versions.version"),
  region: sql.ref("databases.region"),
  status: sql.ref("databases.status"),
};

export const listDatabasePage = (db: Db, principal: Principal, page: PageRequest, filter: Filter) =>
  listPage(
    databasesToView(db)
      .where("databases.account_id", "=", principal.accountId)
      .where("databases.deleted_at", "is", null)
      .where(mayView(principal, "database", "databases.id")),
    { page, filter, columns, lastly: { by: "databases.id" } },
  );

export const hasDatabase = async (db: Db, accountId: number, id: number): Promise<boolean> => {
  const found = await db
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return found !== undefined;
};

/** As this transaction has changed it. */
export const findChangedDatabase = (tx: Tx, accountId: number, id: number): Promise<DatabaseToView> =>
  databaseToView(tx, accountId, id).executeTakeFirstOrThrow(notFound);

/** The whole row, including what its tenant may not see. */
export const findDatabaseRow = (tx: Tx, accountId: number, id: number): Promise<DatabaseRow> =>
  tx
    .selectFrom("databases")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow(notFound);

/** Locks the row, so that changes of one database are decided one after the other. */
export const lockDatabase = (tx: Tx, accountId: number, id: number): Promise<DatabaseRow> =>
  tx
    .selectFrom("databases")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirstOrThrow(notFound);

/** Undefined: the account has a database with this label. */
export const insertDatabase = (tx: Tx, row: Insertable<Tables["databases"]>): Promise<DatabaseRow | undefined> =>
  tx
    .insertInto("databases")
    .values(row)
    .onConflict((conflict) => conflict.columns(["account_id", "label"]).where("deleted_at", "is", null).doNothing())
    .returningAll()
    .executeTakeFirst();

export type DatabaseChange = Pick<
  Updateable<Tables["databases"]>,
  | "label"
  | "allow_list"
  | "updates"
  | "status"
  | "port"
  | "dns_published_at"
  | "updated_at"
  | "deleted_at"
  | "image"
  | "timeline_id"
  | "powered"
  | "patch_due_at"
  | "plan"
  | "admin_password"
  | "credentials_version"
  | "purge_at"
>;

export const saveDatabase = (tx: Tx, accountId: number, id: number, change: DatabaseChange): Promise<DatabaseRow> =>
  tx
    .updateTable("databases")
    .set(change)
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** Another database of the account has the new label. The transaction is aborted. */
export const isLabelTaken = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.constraint === "databases_label";
