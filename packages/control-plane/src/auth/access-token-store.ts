import type { Db, Tx } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import { liveAppGrants } from "./app-grant-store.ts";
import type { Person } from "./interactions.ts";
import type { AppGrantRef } from "./names.ts";

export type NewAccessToken = {
  token: string;
  person: Person;
  appGrant: AppGrantRef;
  scopes: string[];
  createdAt: Date;
  expiresAt: Date;
};

/** Stored in the same table as personal tokens, so that the API looks up both in the same way. */
export async function saveAccessToken(tx: Tx, token: NewAccessToken): Promise<void> {
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

export const findAccessToken = (db: Db, token: string, now: Date) =>
  liveAppGrants(db, now)
    .innerJoin("tokens", (join) =>
      join.onRef("tokens.account_id", "=", "app_grants.account_id").onRef("tokens.app_grant_id", "=", "app_grants.id"),
    )
    .select(["tokens.account_id", "tokens.user_id", "tokens.scopes", "tokens.created_at", "tokens.expires_at"])
    .select(["app_grants.id as app_grant_id", "app_grants.client_id"])
    .where("tokens.sha256", "=", sha256(token))
    .where("tokens.revoked_at", "is", null)
    .executeTakeFirst();
