import { type Selectable, sql } from "kysely";
import pg from "pg";
import { type Principal, unrestrictedOnly } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

export type UserRow = Selectable<Tables["users"]>;

export type UserToView = Awaited<ReturnType<typeof findUserToView>>;

export const findUserToView = (db: Db | Tx, accountId: number, username: string) =>
  usersToView(db, accountId).where(named(username)).executeTakeFirstOrThrow(notFound);

export const listUserPage = (db: Db, accountId: number, page: PageRequest, filter: Filter) =>
  listPage(usersToView(db, accountId), {
    page,
    filter,
    columns: { username: sql.ref("users.username") },
    lastly: { by: "users.id" },
  });

/** Without the columns for signing in. */
const usersToView = (db: Db | Tx, accountId: number) =>
  db
    .selectFrom("users")
    .leftJoinLateral(
      (query) =>
        query
          .selectFrom("logins")
          .select(["logins.at as last_login_at", "logins.status as last_login_status"])
          .whereRef("logins.account_id", "=", "users.account_id")
          .whereRef("logins.user_id", "=", "users.id")
          .orderBy("logins.id", "desc")
          .limit(1)
          .as("last_login"),
      (join) => join.onTrue(),
    )
    .select(["users.username", "users.email", "users.restricted", "users.tfa_enabled_at", "users.password_set_at"])
    .select(["last_login_at", "last_login_status"])
    .where("users.account_id", "=", accountId);

/**
 * Locks the user to be changed, and all unrestricted users in order. So two requests cannot restrict or delete each
 * other's callers and leave the account without an unrestricted user: the second finds its caller restricted, or gone.
 */
export async function lockUser(tx: Tx, by: Principal, username: string): Promise<UserRow> {
  const rows = await tx
    .selectFrom("users")
    .selectAll()
    .select(named(username).as("is_named"))
    .where("account_id", "=", by.accountId)
    .where(({ or, not }) => or([not("restricted"), named(username)]))
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
  if (!rows.some(({ id, restricted }) => id === by.userId && !restricted)) throw unrestrictedOnly();
  const user = rows.find(({ is_named }) => is_named);
  if (user === undefined) throw notFound();
  return user;
}

const named = (username: string) => sql<boolean>`lower(users.username) = lower(${username})`;

export const countUsers = async (tx: Tx, accountId: number): Promise<number> =>
  (
    await tx
      .selectFrom("users")
      .select(({ fn }) => fn.countAll<number>().as("users"))
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow()
  ).users;

/** Whether the name is in use, without regard to case. */
export const isNameInUse = async (db: Db, username: string): Promise<boolean> =>
  (await db
    .selectFrom("users")
    .select("id")
    .where(sql`lower(username)`, "=", username.toLowerCase())
    .executeTakeFirst()) !== undefined;

/** A rename failed because the name is in use. The transaction is aborted. */
export const isNameTaken = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && ["users_by_name", "users_username_key"].includes(error.constraint ?? "");

export const findCompany = async (tx: Tx, accountId: number): Promise<string> =>
  (await tx.selectFrom("accounts").select("company").where("id", "=", accountId).executeTakeFirstOrThrow()).company;
