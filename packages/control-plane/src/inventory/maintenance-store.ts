import { type Selectable, sql } from "kysely";
import { mayView, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import type { ComputeRow } from "./compute-store.ts";
import { texts } from "./texts.ts";

export type MaintenanceRow = Selectable<Tables["maintenance"]>;
export type MaintenanceStatus = MaintenanceRow["status"];

export type MaintenanceToView = MaintenanceRow & { compute_label: string };

const DAY_MS = 86_400_000;
/** Completed maintenance stays visible, so that somebody who finds an instance rebooted finds out why. */
const SHOWN_DAYS = 7;

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

const shownSince = (now: Date): Date => new Date(now.getTime() - SHOWN_DAYS * DAY_MS);

/** For the operator: open maintenance, or all. */
export const listEveryMaintenance = (db: Db, page: PageRequest, which: "open" | "all") =>
  listPage(
    withCompute(db).$if(which === "open", (query) => query.where("maintenance.status", "in", ["pending", "started"])),
    { page, lastly: { by: "maintenance.id" } },
  );

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

const before: Record<MaintenanceStatus, readonly MaintenanceStatus[]> = {
  pending: [],
  started: ["pending"],
  completed: ["pending", "started"],
  canceled: ["pending", "started"],
};

/** False: it already has this status, and there is nothing to do. */
export function isChange({ id, status }: MaintenanceRow, to: MaintenanceStatus): boolean {
  if (status === to) return false;
  if (before[to].includes(status)) return true;
  throw new DomainError("wrong-state", {
    reason: texts.maintenanceStatus({ id, status, allowed: before[to], to }),
  });
}

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
