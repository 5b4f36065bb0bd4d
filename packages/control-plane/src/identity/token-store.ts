import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import { sha256 } from "#platform/sha256.ts";
import type { Principal } from "./principal.ts";

export type NewToken = {
  label: string;
  scopes: string[];
  scopesAsSent?: string | null;
  now: Date;
  expires: Date | null;
  /** 64 hexadecimal digits, if the caller generated it. */
  secret?: string;
  issuedTo?: string;
};

/** The only place that returns the full token; only its hash is stored. */
export async function issueToken(
  tx: Tx,
  user: { account_id: number; id: number },
  token: NewToken,
): Promise<{ id: number; prefix: string; token: string }> {
  const secret = token.secret ?? randomBytes(32).toString("hex");
  const saved = await tx
    .insertInto("tokens")
    .values({
      account_id: user.account_id,
      user_id: user.id,
      label: token.label,
      sha256: sha256(secret),
      prefix: secret.slice(0, 16),
      scopes: token.scopes,
      scopes_as_sent: token.scopesAsSent ?? null,
      created_at: token.now,
      expires_at: token.expires,
      revoked_at: null,
      issued_to: token.issuedTo ?? null,
    })
    .returning(["id", "prefix"])
    .executeTakeFirstOrThrow();
  return { ...saved, token: secret };
}

/**
 * Whether the calling personal token is still valid; it is locked until the transaction ends. A token that is being
 * revoked must not create anything that outlives the request.
 */
export async function holdToken(tx: Tx, by: Principal): Promise<boolean> {
  const token = await tx
    .selectFrom("tokens")
    .select("id")
    .where("account_id", "=", by.accountId)
    .where("id", "=", by.tokenId)
    .where("revoked_at", "is", null)
    .forShare()
    .executeTakeFirst();
  return token !== undefined;
}

export type NewAppToken = {
  token: string;
  person: { accountId: number; userId: number };
  appGrant: { id: number };
  scopes: string[];
  createdAt: Date;
  expiresAt: Date;
};

/** Stored in the same table as personal tokens, so that the API looks up both in the same way. */
export async function saveAppToken(tx: Tx, token: NewAppToken): Promise<void> {
  await tx
    .insertInto("tokens")
    .values({
      account_id: token.person.accountId,
      user_id: token.person.userId,
      label: "",
      prefix: "",
      sha256: sha256(token.token),
      scopes: token.scopes,
      created_at: token.createdAt,
      expires_at: token.expiresAt,
      revoked_at: null,
      app_grant_id: token.appGrant.id,
    })
    .execute();
}

/** The caller has locked the token. */
export const changeToken = (
  tx: Tx,
  accountId: number,
  id: number,
  change: { label?: string; revoked_at?: Date; confirmed_until?: Date },
): Promise<unknown> =>
  tx.updateTable("tokens").set(change).where("account_id", "=", accountId).where("id", "=", id).execute();

/** Repeatable: the first revocation time stays. */
export const revokeToken = (tx: Tx, accountId: number, id: number, now: Date): Promise<unknown> =>
  tx
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();

/** Those of all users of an account, and of their apps. */
export const revokeAllTokens = (tx: Tx, accountId: number, at: Date): Promise<unknown> =>
  tx
    .updateTable("tokens")
    .set({ revoked_at: at })
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null)
    .execute();

/** Personal tokens stay until their user deletes them. */
export const sweepAppTokens = (db: Db, now: Date, batch?: number): Promise<void> =>
  deleteInBatches(
    db,
    (most) => sql`delete from tokens where ctid = any(array(
      select ctid from tokens where app_grant_id is not null and expires_at <= ${now}
      order by expires_at limit ${most} for update skip locked))`,
    batch,
  );
