import { type Selectable, sql } from "kysely";
import pg from "pg";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type AccountLimits = { databases: number; nodes: number; memory_mb: number; disk_mb: number };
export type NewAccount = { company: string; email: string; limits: AccountLimits };
export type NewUser = { username: string; email: string; restricted: boolean };

/** Can be repeated, by email: an existing account gets the given limits. */
export async function saveAccount(tx: Tx, account: NewAccount, now: Date): Promise<{ id: number }> {
  const limits = {
    max_databases: account.limits.databases,
    max_nodes: account.limits.nodes,
    max_memory_mb: account.limits.memory_mb,
    max_disk_mb: account.limits.disk_mb,
  };
  return tx
    .insertInto("accounts")
    .values({ company: account.company, email: account.email, ...limits, created_at: now })
    .onConflict((conflict) => conflict.column("email").doUpdateSet({ company: account.company, ...limits }))
    .returning("id")
    .executeTakeFirstOrThrow();
}

/**
 * Can be repeated, by name; undefined if another account has the name. Unrestricted users hold no grants, so a user who
 * becomes restricted again starts with none. The account must exist.
 */
export async function saveUser(
  tx: Tx,
  accountId: number,
  user: NewUser,
  now: Date,
): Promise<Selectable<Tables["users"]> | undefined> {
  const change = { email: user.email, restricted: user.restricted, ...(!user.restricted && { global_grants: "{}" }) };
  const saved = await tx
    .insertInto("users")
    .values({ account_id: accountId, ...user, created_at: now })
    .onConflict((conflict) =>
      conflict.expression(sql`lower(username)`).doUpdateSet(change).where("users.account_id", "=", accountId),
    )
    .returningAll()
    .executeTakeFirst();
  if (saved !== undefined && !saved.restricted)
    await tx.deleteFrom("entity_grants").where("account_id", "=", accountId).where("user_id", "=", saved.id).execute();
  return saved;
}

/** Names are unique without regard to case, and so is this lookup. */
export const findUser = (
  db: Db | Tx,
  accountId: number,
  username: string,
): Promise<Selectable<Tables["users"]> | undefined> =>
  db
    .selectFrom("users")
    .selectAll()
    .where("account_id", "=", accountId)
    .where(sql`lower(username)`, "=", sql`lower(${username})`)
    .executeTakeFirst();

const FOREIGN_KEY_VIOLATION = "23503";

/** A foreign key failed because the user was deleted during the request. */
export const isUserGone = (error: unknown): boolean =>
  error instanceof pg.DatabaseError &&
  error.code === FOREIGN_KEY_VIOLATION &&
  /_user(?:_id_fkey)?$/.test(error.constraint ?? "");
