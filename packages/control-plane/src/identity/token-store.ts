import { randomBytes } from "node:crypto";
import type { Tx } from "#platform/db/database.ts";
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
 * Whether the calling token is still valid; it is locked until the transaction ends. A token that is being revoked must
 * not create anything that outlives the request.
 */
export async function holdToken(tx: Tx, by: Principal): Promise<boolean> {
  const token = await tx
    .selectFrom("tokens")
    .select("app_grant_id")
    .where("account_id", "=", by.accountId)
    .where("id", "=", by.tokenId)
    .where("revoked_at", "is", null)
    .forShare()
    .executeTakeFirst();
  if (token === undefined || token.app_grant_id === null) return token !== undefined;
  const app = await tx
    .selectFrom("app_grants")
    .innerJoin("oauth_clients", (join) =>
      join
        .onRef("oauth_clients.id", "=", "app_grants.client_id")
        .onRef("oauth_clients.epoch", "=", "app_grants.client_epoch"),
    )
    .select("app_grants.id")
    .where("app_grants.account_id", "=", by.accountId)
    .where("app_grants.id", "=", token.app_grant_id)
    .where("app_grants.revoked_at", "is", null)
    .where("oauth_clients.status", "=", "active")
    .where("oauth_clients.deleted_at", "is", null)
    .forShare()
    .executeTakeFirst();
  return app !== undefined;
}
