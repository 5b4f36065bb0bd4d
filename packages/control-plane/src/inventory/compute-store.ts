import type { EventEntity } from "@moorage/contract";
import { type Selectable, sql } from "kysely";
import { mayView, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

export type ComputeRow = Selectable<Tables["computes"]>;

export const hasCompute = async (db: Db, accountId: number, id: number): Promise<boolean> =>
  (await db
    .selectFrom("computes")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst()) !== undefined;

export const findCompute = (db: Db, accountId: number, id: number): Promise<ComputeRow> =>
  computesOf(db, accountId).where("id", "=", id).executeTakeFirstOrThrow(notFound);

/** The account's instances that the reader may see. */
export const listComputePage = (db: Db, principal: Principal, page: PageRequest, filter: Filter) =>
  listPage(computesOf(db, principal.accountId).where(mayView(principal, "compute", "computes.id")), {
    page,
    filter,
    columns: { id: "id", label: "label", region: "region" },
    lastly: { by: "id" },
  });

const computesOf = (db: Db, accountId: number) =>
  db.selectFrom("computes").selectAll().where("account_id", "=", accountId).where("deleted_at", "is", null);

/**
 * Locks in the order of ids, so that changes of several instances cannot deadlock. Owner and deletion are checked after
 * locking.
 */
export const lockComputes = (tx: Tx, ids: readonly number[]): Promise<ComputeRow[]> =>
  tx
    .selectFrom("computes")
    .selectAll()
    .where("id", "=", sql<number>`any(${ids}::bigint[])`)
    .orderBy("id")
    .forUpdate()
    .execute();

/** An instance that is not deleted, for the operator. */
export const lockCompute = async (tx: Tx, id: number): Promise<ComputeRow | undefined> =>
  (await lockComputes(tx, [id])).find(({ deleted_at }) => deleted_at === null);

export type NewCompute = {
  accountId: number;
  label: string;
  region: string;
  plan?: string | undefined;
  hostId?: number | undefined;
};

/** Repeatable by account and label: an existing instance gets the given values and keeps the rest. */
export const saveCompute = (tx: Tx, compute: NewCompute, now: Date): Promise<ComputeRow> => {
  const named = {
    region: compute.region,
    ...(compute.plan !== undefined && { plan: compute.plan }),
    ...(compute.hostId !== undefined && { host_id: compute.hostId }),
  };
  return tx
    .insertInto("computes")
    .values({
      account_id: compute.accountId,
      label: compute.label,
      plan: null,
      host_id: null,
      deleted_at: null,
      ...named,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "label"])
        .where("deleted_at", "is", null)
        .doUpdateSet({ ...named, updated_at: now }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
};

export const markComputeDeleted = (tx: Tx, { account_id, id }: ComputeRow, now: Date): Promise<unknown> =>
  tx
    .updateTable("computes")
    .set({ deleted_at: now, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();

/** Disks and maintenance reference their instance by owner and id, and follow the change. */
export const saveOwner = (
  tx: Tx,
  computes: readonly { id: number; label: string }[],
  { from, to, at }: { from: number; to: number; at: Date },
): Promise<unknown> =>
  sql`
    update computes set account_id = ${to}::bigint, label = moved.label, updated_at = ${at}
    from unnest(${computes.map(({ id }) => id)}::bigint[], ${computes.map(({ label }) => label)}::text[])
      as moved (id, label)
    where computes.account_id = ${from} and computes.id = moved.id`.execute(tx);

export const labelsOf = async (tx: Tx, accountId: number): Promise<Set<string>> => {
  const rows = await tx
    .selectFrom("computes")
    .select("label")
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    .execute();
  return new Set(rows.map(({ label }) => label));
};

export type ComputeToShow = NonNullable<Awaited<ReturnType<typeof findComputeToShow>>>;

export const findComputeToShow = (db: Db | Tx, id: number) =>
  computesToShow(db).where("computes.id", "=", id).executeTakeFirst();

/** For the operator: of all accounts, or of one. */
export const listComputesToShow = (db: Db, page: PageRequest, accountId: number | undefined) =>
  listPage(
    computesToShow(db).$if(accountId !== undefined, (query) =>
      query.where("computes.account_id", "=", accountId as number),
    ),
    { page, lastly: { by: "computes.id" } },
  );

const computesToShow = (db: Db | Tx) =>
  db
    .selectFrom("computes")
    .leftJoin("hosts", "hosts.id", "computes.host_id")
    .select(["computes.id", "computes.account_id as account", "computes.label", "computes.region", "computes.plan"])
    .select(["hosts.name as host", "computes.created_at", "computes.updated_at"])
    .where("computes.deleted_at", "is", null);

/** The entity of a compute instance in events. */
export const entityOfCompute = ({ id, label }: { id: number; label: string }) =>
  ({ id, label, type: "compute", url: `/v4/compute/instances/${id}` }) satisfies EventEntity;
