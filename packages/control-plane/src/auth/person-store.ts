import type { Db } from "#platform/db/database.ts";
import type { Person } from "./interactions.ts";

/** Users of a closed account are not found. */
export async function findPerson(db: Db, { accountId, userId }: Person): Promise<boolean> {
  const user = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select("users.id")
    .where("users.account_id", "=", accountId)
    .where("users.id", "=", userId)
    .where("accounts.closed_at", "is", null)
    .executeTakeFirst();
  return user !== undefined;
}
