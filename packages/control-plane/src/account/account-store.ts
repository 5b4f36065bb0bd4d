import { accountEntity } from "@moorage/contract";
import type { Selectable } from "kysely";
import { recordChange, type RecordedChange } from "#events/index.ts";
import { invalidToken, type Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type AccountRow = Selectable<Tables["accounts"]>;

export const findAccount = (db: Db | Tx, id: number): Promise<AccountRow> =>
  db.selectFrom("accounts").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

/** Locks the row, which is last in the lock order: lock a database's row before it. */
export const lockAccount = (tx: Tx, id: number): Promise<AccountRow | undefined> =>
  tx.selectFrom("accounts").selectAll().where("id", "=", id).forNoKeyUpdate().executeTakeFirst();

/** The account was closed while the request was running: the request's token is invalid like all others. */
export function requireOpen(account: AccountRow | undefined): AccountRow {
  if (account === undefined || account.closed_at !== null) throw invalidToken();
  return account;
}

type Change = RecordedChange & { account: { id: number; company: string } };

export const recordAccountChange = (tx: Tx, by: Principal, { account, ...change }: Change): Promise<void> =>
  recordChange(tx, by, { ...change, target: targetOf(account.id), entity: accountEntity(account.company) });

export const targetOf = (accountId: number): string => `account/${accountId}`;
