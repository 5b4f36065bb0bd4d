import { randomBytes } from "node:crypto";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import type { Person } from "./user-store.ts";

/** Creates a link by which this person chooses a password: valid once, for this many hours. Only its hash is stored. */
export const createPasswordLinks =
  ({ clock, authUrl }: { clock: Clock; authUrl: string }) =>
  async (tx: Tx, { accountId, userId }: Person, hours: number): Promise<string> => {
    const secret = randomBytes(32).toString("hex");
    const now = clock();
    await tx
      .insertInto("password_links")
      .values({
        sha256: sha256(secret),
        account_id: accountId,
        user_id: userId,
        created_at: now,
        expires_at: new Date(now.getTime() + hours * 3_600_000),
      })
      .execute();
    return new URL(`/password/${secret}`, authUrl).href;
  };

export const isLinkSecret = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** Whose link it is, if it is still valid. Opening the link does not use it up: mail programs open links too. */
export async function findLink(db: Db, clock: Clock, secret: string): Promise<Person | undefined> {
  const row = await db
    .selectFrom("password_links")
    .select(["account_id as accountId", "user_id as userId"])
    .where("sha256", "=", sha256(secret))
    .where("expires_at", ">", clock())
    .executeTakeFirst();
  return row;
}

/** Uses the link up. Of two concurrent callers, one gets the person. */
export async function takeLink(tx: Tx, clock: Clock, secret: string): Promise<Person | undefined> {
  const row = await tx
    .deleteFrom("password_links")
    .where("sha256", "=", sha256(secret))
    .returning(["account_id as accountId", "user_id as userId", "expires_at as expiresAt"])
    .executeTakeFirst();
  return row === undefined || row.expiresAt <= clock() ? undefined : { accountId: row.accountId, userId: row.userId };
}

export async function dropLinks(tx: Tx, { accountId, userId }: Person): Promise<void> {
  await tx.deleteFrom("password_links").where("account_id", "=", accountId).where("user_id", "=", userId).execute();
}
