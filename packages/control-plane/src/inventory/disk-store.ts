import type { Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import type { ComputeRow } from "./compute-store.ts";

export type DiskRow = Selectable<Tables["disks"]>;
export type NewDisk = Pick<DiskRow, "label" | "size_mb" | "filesystem" | "device">;

/** Repeatable by instance and label. The instance is locked. */
export const saveDisk = (tx: Tx, compute: ComputeRow, disk: NewDisk, now: Date): Promise<DiskRow> =>
  tx
    .insertInto("disks")
    .values({
      account_id: compute.account_id,
      compute_id: compute.id,
      ...disk,
      created_at: now,
      updated_at: now,
      deleted_at: null,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["compute_id", "label"])
        .where("deleted_at", "is", null)
        .doUpdateSet({ ...disk, updated_at: now }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();

export const listDisks = (db: Db | Tx, computeId?: number): Promise<DiskRow[]> =>
  db
    .selectFrom("disks")
    .selectAll()
    .where("deleted_at", "is", null)
    .$if(computeId !== undefined, (query) => query.where("compute_id", "=", computeId as number))
    .orderBy("id")
    .execute();

type OfCompute = Pick<ComputeRow, "account_id" | "id">;

const disksOf = (db: Db, { account_id, id }: OfCompute) =>
  db
    .selectFrom("disks")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("compute_id", "=", id)
    .where("deleted_at", "is", null);

export const findDisk = (db: Db, compute: OfCompute, id: number): Promise<DiskRow> =>
  disksOf(db, compute).where("id", "=", id).executeTakeFirstOrThrow(notFound);

export const listDiskPage = (db: Db, compute: OfCompute, page: PageRequest, filter: Filter) =>
  listPage(disksOf(db, compute), {
    page,
    filter,
    columns: { id: "id", label: "label", size: "size_mb" },
    lastly: { by: "id" },
  });

/** A disk of any instance of the account. Undefined: the account has none with this id. */
export const findDiskOf = (db: Db | Tx, accountId: number, id: number): Promise<DiskRow | undefined> =>
  db
    .selectFrom("disks")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();

/** Undefined: no such disk. */
export const markDiskDeleted = (tx: Tx, id: number, now: Date): Promise<DiskRow | undefined> =>
  tx
    .updateTable("disks")
    .set({ deleted_at: now, updated_at: now })
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .returningAll()
    .executeTakeFirst();

export const markDisksDeleted = (tx: Tx, { account_id, id }: ComputeRow, now: Date): Promise<unknown> =>
  tx
    .updateTable("disks")
    .set({ deleted_at: now, updated_at: now })
    .where("account_id", "=", account_id)
    .where("compute_id", "=", id)
    .where("deleted_at", "is", null)
    .execute();
