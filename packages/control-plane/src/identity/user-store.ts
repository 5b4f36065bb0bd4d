import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";

/** Changes of a user's row and of the links by which users choose a password, for other capabilities. */

type UserRow = Selectable<Tables["users"]>;
type UserKey = { account_id: number; id: number };
type Person = { accountId: number; userId: number };

/** Undefined: the name is in use. */
export const insertUser = (tx: Tx, row: Insertable<Tables["users"]>): Promise<UserRow | undefined> =>
  tx
    .insertInto("users")
    .values(row)
    .onConflict((conflict) => conflict.expression(sql`lower(username)`).doNothing())
    .returningAll()
    .executeTakeFirst();

export type UserColumns = Pick<
  Updateable<Tables["users"]>,
  | "username"
  | "name_since"
  | "email"
  | "restricted"
  | "timezone"
  | "email_notifications"
  | "lish_auth_method"
  | "authorized_keys"
  | "preferences"
>;

export const saveUserColumns = (tx: Tx, { account_id, id }: UserKey, change: UserColumns): Promise<UserRow> =>
  tx
    .updateTable("users")
    .set(change)
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow(notFound);

/** Changes the named grants and leaves the rest. Returns the user afterwards. */
export const saveGlobalGrants = (tx: Tx, { account_id, id }: UserKey, global: object): Promise<UserRow> =>
  tx
    .updateTable("users")
    .set({ global_grants: sql`global_grants || ${JSON.stringify(global)}::jsonb` })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();

export const dropGlobalGrants = (tx: Tx, { account_id, id }: UserKey): Promise<unknown> =>
  tx
    .updateTable("users")
    .set({ global_grants: "{}" })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();

/** Also deletes tokens, apps, sessions, passkeys, links and grants, which reference the row. */
export const deleteUserRow = (tx: Tx, { account_id, id }: UserKey): Promise<unknown> =>
  tx.deleteFrom("users").where("account_id", "=", account_id).where("id", "=", id).execute();

type SignInColumns = Pick<
  UserRow,
  | "password_hash"
  | "password_set_at"
  | "tfa_secret"
  | "tfa_enabled_at"
  | "tfa_last_step"
  | "tfa_offered_secret"
  | "tfa_offered_until"
>;

export async function saveSignIn(tx: Tx, { accountId, userId }: Person, change: Partial<SignInColumns>): Promise<void> {
  await tx.updateTable("users").set(change).where("account_id", "=", accountId).where("id", "=", userId).execute();
}

/** Only if the password is unchanged: the user may have chosen a new one meanwhile. */
export async function replacePasswordHash(
  db: Db,
  { accountId, userId }: Person,
  from: string,
  to: string,
): Promise<void> {
  await db
    .updateTable("users")
    .set({ password_hash: to })
    .where("account_id", "=", accountId)
    .where("id", "=", userId)
    .where("password_hash", "=", from)
    .execute();
}

/** Whether this step of a two-factor code is used for the first time. Of two concurrent callers, one gets true. */
export async function useTfaStep(db: Db | Tx, { accountId, userId }: Person, step: number): Promise<boolean> {
  const used = await db
    .updateTable("users")
    .set({ tfa_last_step: step })
    .where("account_id", "=", accountId)
    .where("id", "=", userId)
    .where("tfa_secret", "is not", null)
    .where(({ or, eb }) => or([eb("tfa_last_step", "is", null), eb("tfa_last_step", "<", step)]))
    .returning("id")
    .executeTakeFirst();
  return used !== undefined;
}

/** A link by which a user chooses a password. Only the hash of its secret is stored. */
export async function insertPasswordLink(
  tx: Tx,
  { accountId, userId }: Person,
  link: { sha256: Buffer; createdAt: Date; expiresAt: Date },
): Promise<void> {
  await tx
    .insertInto("password_links")
    .values({
      sha256: link.sha256,
      account_id: accountId,
      user_id: userId,
      created_at: link.createdAt,
      expires_at: link.expiresAt,
    })
    .execute();
}

/** Of two concurrent callers, one gets the link. It may have expired. */
export const takePasswordLink = (tx: Tx, sha256: Buffer): Promise<(Person & { expiresAt: Date }) | undefined> =>
  tx
    .deleteFrom("password_links")
    .where("sha256", "=", sha256)
    .returning(["account_id as accountId", "user_id as userId", "expires_at as expiresAt"])
    .executeTakeFirst();

export async function dropPasswordLinks(tx: Tx, { accountId, userId }: Person): Promise<void> {
  await tx.deleteFrom("password_links").where("account_id", "=", accountId).where("user_id", "=", userId).execute();
}

/** Those of all users of an account. */
export const dropAllPasswordLinks = (tx: Tx, accountId: number): Promise<unknown> =>
  tx.deleteFrom("password_links").where("account_id", "=", accountId).execute();
