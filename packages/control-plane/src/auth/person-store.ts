import type { Db } from "#platform/db/database.ts";
import type { Person } from "./interactions.ts";

export async function findPerson(db: Db, { accountId, userId }: Person): Promise<boolean> {
  const user = await db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", userId)
    .executeTakeFirst();
  return user !== undefined;
}
