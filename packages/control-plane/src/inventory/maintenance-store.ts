import { sql } from "kysely";
import { mayView, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import type { Filter } from "#platform/filter.ts";
import type { PageRequest } from "#platform/http/page.ts";
import type { ComputeRow } from "./compute-store.ts";
import { type MaintenanceRow, type MaintenanceStatus, shownSince } from "./maintenance.ts";

const withCompute = (db: Db) =>
  db
    .selectFrom("maintenance")
    .innerJoin("computes", (join) =>
      join
        .onRef("computes.account_id", "=", "maintenance.account_id")
        .onRef("computes.id", "=", "maintenance.compute_id"),
    )
    .selectAll("maintenance")
    .select("computes.label as compute_label");
export type MaintenanceToView = MaintenanceRow & { compute_label: string };

/** Pending, started and recently completed maintenance of instances that the reader may see. */
export const listMaintenancePage = (db: Db, principal: Principal, page: PageRequest, filter: Filter, now: Date) =>
  listPage(
    withCompute(db)
      .where("maintenance.account_id", "=", principal.accountId)
      .where("computes.deleted_at", "is", null)
      .where("maintenance.status", "!=", "canceled")
      .where(({ or, eb }) =>
        or([eb("maintenance.ended_at", "is", null), eb("maintenance.ended_at", ">", shownSince(now))]),
      )
      .where(mayView(principal, "compute", "computes.id")),
    {
      page,
      filter,
      columns: {
        type: sql.ref("maintenance.type"),
        status: sql.ref("maintenance.status"),
        when: sql.ref("maintenance.when_at"),
      },
      lastly: { by: "maintenance.id" },
    },
  );

/** For the operator: open maintenance, or all. */
export const listEveryMaintenance = (db: Db, page: PageRequest, which: "open" | "all") =>
  listPage(
    withCompute(db).$if(which === "open", (query) => query.where("maintenance.status", "in", ["pending", "started"])),
    { page, lastly: { by: "maintenance.id" } },
  );

type NewMaintenance = Pick<MaintenanceRow, "type" | "reason" | "when_at">;

/**
 * Repeatable: an open item of this type for the instance gets the new time and reason. Undefined: that item has
 * started. The instance is locked.
 */
export const saveMaintenance = (
  tx: Tx,
  compute: ComputeRow,
  { type, reason, when_at }: NewMaintenance,
  now: Date,
): Promise<MaintenanceRow | undefined> =>
  tx
    .insertInto("maintenance")
    .values({ account_id: compute.account_id, compute_id: compute.id, type, reason, when_at, created_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(["compute_id", "type"])
        .where("status", "in", ["pending", "started"])
        .doUpdateSet({ reason, when_at })
        .where("maintenance.status", "=", "pending"),
    )
    .returningAll()
    .executeTakeFirst();

export const lockMaintenance = (tx: Tx, id: number): Promise<MaintenanceRow | undefined> =>
  tx.selectFrom("maintenance").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();

export const saveMaintenanceStatus = (
  tx: Tx,
  { account_id, id }: MaintenanceRow,
  status: MaintenanceStatus,
  now: Date,
): Promise<MaintenanceRow> =>
  tx
    .updateTable("maintenance")
    .set({ status, ended_at: status === "completed" || status === "canceled" ? now : null })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** Cancels the maintenance of an instance that is removed. */
export const cancelMaintenanceOf = (tx: Tx, { account_id, id }: ComputeRow, now: Date): Promise<unknown> =>
  tx
    .updateTable("maintenance")
    .set({ status: "canceled", ended_at: now })
    .where("account_id", "=", account_id)
    .where("compute_id", "=", id)
    .where("status", "in", ["pending", "started"])
    .execute();
