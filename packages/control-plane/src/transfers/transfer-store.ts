import { type Insertable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import { sha256 } from "#platform/sha256.ts";
import type { TransferRow } from "./transfer.ts";

/** By the token in any letter case, because it is a UUID. The caller checks that the reader may see it. */
export const findTransfer = (db: Db | Tx, token: string): Promise<TransferRow | undefined> =>
  db.selectFrom("transfers").selectAll().where("token_sha256", "=", hashOf(token)).executeTakeFirst();

export const hashOf = (token: string): Buffer => sha256(token.toLowerCase());

/** Locked after the compute instances and before the accounts. */
export const lockTransfer = (tx: Tx, id: number): Promise<TransferRow> =>
  tx.selectFrom("transfers").selectAll().where("id", "=", id).forUpdate().executeTakeFirstOrThrow();

export const findTransferById = (tx: Tx, id: number): Promise<TransferRow> =>
  tx.selectFrom("transfers").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

/** Sent and received transfers, the oldest first. */
export const listTransferPage = (db: Db, accountId: number, page: PageRequest, filter: Filter, now: Date) =>
  listPage(
    db
      .selectFrom("transfers")
      .selectAll()
      .where(({ or, eb }) => or([eb("account_id", "=", accountId), eb("receiver_account_id", "=", accountId)])),
    {
      page,
      filter,
      columns: {
        // The same rule as `statusAt`.
        status: sql`case when status = 'pending' and expires_at <= ${now}::timestamptz then 'stale' else status end`,
        is_sender: sql`(account_id = ${accountId}::bigint)`,
      },
      lastly: { by: "id" },
    },
  );

/**
 * Open transfers of the account that contain one of these instances. The instances are locked, so that none is added.
 */
export const transfersOf = (tx: Tx, accountId: number, computes: readonly number[]): Promise<TransferRow[]> =>
  tx
    .selectFrom("transfers")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("status", "in", ["pending", "accepted"])
    .where(sql<boolean>`computes && ${computes}::bigint[]`)
    .orderBy("id")
    .forUpdate()
    .execute();

export const insertTransfer = (tx: Tx, row: Insertable<Tables["transfers"]>): Promise<TransferRow> =>
  tx.insertInto("transfers").values(row).returningAll().executeTakeFirstOrThrow();

type End = Partial<Pick<TransferRow, "receiver_account_id" | "receiver" | "message">> &
  Pick<TransferRow, "status" | "updated_at">;

export const saveTransfer = (tx: Tx, { id }: Pick<TransferRow, "id">, change: End): Promise<TransferRow> =>
  tx.updateTable("transfers").set(change).where("id", "=", id).returningAll().executeTakeFirstOrThrow();

export const overdueTransfers = (db: Db, now: Date, limit: number): Promise<{ id: number }[]> =>
  db
    .selectFrom("transfers")
    .select("id")
    .where("status", "=", "pending")
    .where("expires_at", "<=", now)
    .orderBy("expires_at")
    .limit(limit)
    .execute();

/** Locks both accounts in the order of ids, as the last locks of a transaction. */
export const lockAccounts = (tx: Tx, ids: readonly number[]): Promise<{ id: number; closed_at: Date | null }[]> =>
  tx.selectFrom("accounts").select(["id", "closed_at"]).where("id", "in", ids).orderBy("id").forNoKeyUpdate().execute();
