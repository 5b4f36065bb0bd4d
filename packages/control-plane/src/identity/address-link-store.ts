import type { Db, Tx } from "#platform/db/database.ts";

/** Links by which users confirm a new mail address, for other capabilities. Only the hash of a secret is stored. */

type Person = { accountId: number; userId: number };
export type AddressLink = { person: Person; email: string };

export async function insertAddressLink(
  tx: Tx,
  { person, email }: AddressLink,
  link: { sha256: Buffer; createdAt: Date; expiresAt: Date },
): Promise<void> {
  await tx
    .insertInto("address_links")
    .values({
      sha256: link.sha256,
      account_id: person.accountId,
      user_id: person.userId,
      email,
      created_at: link.createdAt,
      expires_at: link.expiresAt,
    })
    .execute();
}

/** Undefined: used, replaced or expired. */
export async function findAddressLink(db: Db | Tx, sha256: Buffer, now: Date): Promise<AddressLink | undefined> {
  const row = await db
    .selectFrom("address_links")
    .select(["account_id as accountId", "user_id as userId", "email"])
    .where("sha256", "=", sha256)
    .where("expires_at", ">", now)
    .executeTakeFirst();
  return row && { person: { accountId: row.accountId, userId: row.userId }, email: row.email };
}

/** All of a user's. */
export async function dropAddressLinks(tx: Tx, { accountId, userId }: Person): Promise<void> {
  await tx.deleteFrom("address_links").where("account_id", "=", accountId).where("user_id", "=", userId).execute();
}
