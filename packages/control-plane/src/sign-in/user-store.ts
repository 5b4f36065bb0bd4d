import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type Person = { accountId: number; userId: number };

/** Without large columns (preferences), which would make a lookup of an existing user measurably slower. */
const columns = [
  "users.account_id",
  "users.id",
  "users.username",
  "users.email",
  "users.password_hash",
  "users.tfa_secret",
  "users.tfa_enabled_at",
  "users.tfa_offered_secret",
  "users.tfa_offered_until",
] as const;
type Unqualified<Name> = Name extends `users.${infer Column}` ? Column : never;
export type UserRow = Pick<
  Selectable<Tables["users"]>,
  Extract<Unqualified<(typeof columns)[number]>, keyof Tables["users"]>
>;

/** Users of a closed account are treated like unknown names. */
const users = (db: Db | Tx) =>
  db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(columns)
    .where("accounts.closed_at", "is", null);

export const personOf = ({ account_id, id }: Pick<UserRow, "account_id" | "id">): Person => ({
  accountId: account_id,
  userId: id,
});

/** A name is unique in the installation, without regard to case. */
export const findByName = (db: Db | Tx, name: string): Promise<UserRow | undefined> =>
  users(db).where(sql`lower(users.username)`, "=", sql<string>`lower(${name}::text)`).executeTakeFirst();

export const findUser = (db: Db | Tx, { accountId, userId }: Person): Promise<UserRow | undefined> =>
  users(db).where("users.account_id", "=", accountId).where("users.id", "=", userId).executeTakeFirst();

/** Locks the row, which serializes changes of how one user signs in. */
export const lockUser = (tx: Tx, { accountId, userId }: Person): Promise<UserRow | undefined> =>
  users(tx)
    .where("users.account_id", "=", accountId)
    .where("users.id", "=", userId)
    .forUpdate("users")
    .executeTakeFirst();

export async function useScratchCode(
  db: Db | Tx,
  { accountId, userId }: Person,
  sha256OfCode: Buffer,
): Promise<boolean> {
  const used = await db
    .deleteFrom("scratch_codes")
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .where("sha256", "=", sha256OfCode)
    .returning("user_id")
    .executeTakeFirst();
  return used !== undefined;
}

/** An empty list removes them all. */
export async function replaceScratchCodes(tx: Tx, person: Person, hashes: readonly Buffer[]): Promise<void> {
  const { accountId, userId } = person;
  await tx.deleteFrom("scratch_codes").where("account_id", "=", accountId).where("user_id", "=", userId).execute();
  if (hashes.length === 0) return;
  await tx
    .insertInto("scratch_codes")
    .values(hashes.map((sha256) => ({ account_id: accountId, user_id: userId, sha256 })))
    .execute();
}

export const countScratchCodes = async (db: Db, { accountId, userId }: Person): Promise<number> => {
  const { left } = await db
    .selectFrom("scratch_codes")
    .select(({ fn }) => fn.countAll<number>().as("left"))
    .where("account_id", "=", accountId)
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  return left;
};
