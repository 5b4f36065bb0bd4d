import { randomBytes } from "node:crypto";
import type { Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";

export type AccountLimits = { databases: number; nodes: number; memory_mb: number; disk_mb: number };
export type NewAccount = { company: string; email: string; limits: AccountLimits };
export type NewUser = { username: string; email: string; restricted: boolean };

/** Repeatable by email: an account that exists gets the limits given. */
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

/** Repeatable by name. */
export async function saveUser(
  tx: Tx,
  accountId: number,
  user: NewUser,
  now: Date,
): Promise<Selectable<Tables["users"]>> {
  await tx.selectFrom("accounts").select("id").where("id", "=", accountId).executeTakeFirstOrThrow(notFound);
  const saved = await tx
    .insertInto("users")
    .values({ account_id: accountId, ...user, created_at: now })
    .onConflict((conflict) =>
      conflict.column("username").doUpdateSet({ email: user.email }).where("users.account_id", "=", accountId),
    )
    .returningAll()
    .executeTakeFirst();
  // The name is another account's: it must not tell which.
  if (saved === undefined) throw notFound();
  return saved;
}

export const findUser = (db: Db | Tx, accountId: number, username: string): Promise<Selectable<Tables["users"]>> =>
  db
    .selectFrom("users")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("username", "=", username)
    .executeTakeFirstOrThrow(notFound);

/** The full token leaves here once; only its hash is kept. */
export async function issueToken(
  tx: Tx,
  user: { account_id: number; id: number },
  token: { label: string; scopes: string[]; now: Date },
): Promise<string> {
  const secret = randomBytes(32).toString("hex");
  await tx
    .insertInto("tokens")
    .values({
      account_id: user.account_id,
      user_id: user.id,
      label: token.label,
      sha256: sha256(secret),
      prefix: secret.slice(0, 16),
      scopes: token.scopes,
      created_at: token.now,
      expires_at: null,
      revoked_at: null,
    })
    .execute();
  return secret;
}
