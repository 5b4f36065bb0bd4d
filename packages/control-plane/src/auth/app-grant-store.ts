import { sql } from "kysely";
import { audit } from "#platform/db/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Person } from "./interactions.ts";
import type { AppGrantRef } from "./names.ts";

/**
 * Grants that are not revoked or expired, and whose client is as it was when the person agreed: it exists, is enabled
 * and has the same epoch. Neither the person's account nor the client's is closed.
 */
export const liveAppGrants = (db: Db | Tx, now: Date) =>
  db
    .selectFrom("app_grants")
    .innerJoin("oauth_clients", (join) =>
      join
        .onRef("oauth_clients.id", "=", "app_grants.client_id")
        .onRef("oauth_clients.epoch", "=", "app_grants.client_epoch"),
    )
    .innerJoin("accounts", "accounts.id", "app_grants.account_id")
    .innerJoin("accounts as owners", "owners.id", "oauth_clients.account_id")
    .where("accounts.closed_at", "is", null)
    .where("owners.closed_at", "is", null)
    .where("oauth_clients.status", "=", "active")
    .where("oauth_clients.deleted_at", "is", null)
    .where("app_grants.revoked_at", "is", null)
    .where("app_grants.expires_at", ">", now);

export const findAppGrant = (db: Db, { accountId, id }: AppGrantRef, now: Date) =>
  liveAppGrants(db, now)
    .selectAll("app_grants")
    .where("app_grants.account_id", "=", accountId)
    .where("app_grants.id", "=", id)
    .executeTakeFirst();

export type Consent = { person: Person; clientId: string; epoch: number; scopes: readonly string[] };

/** Undefined: the client has changed since the person agreed, or may not ask them. */
export const openAppGrant = (
  db: Db,
  { person, clientId, epoch, scopes }: Consent,
  at: Date,
  until: Date,
): Promise<AppGrantRef | undefined> =>
  db.transaction().execute(async (tx) => {
    const client = await tx
      .selectFrom("oauth_clients")
      .select("id")
      .where("id", "=", clientId)
      .where("epoch", "=", epoch)
      .where("status", "=", "active")
      .where("deleted_at", "is", null)
      .where(({ or, eb }) => or([eb("verified", "=", true), eb("account_id", "=", person.accountId)]))
      .executeTakeFirst();
    const user = await tx
      .selectFrom("users")
      .innerJoin("accounts", "accounts.id", "users.account_id")
      .select("users.username")
      .where("users.account_id", "=", person.accountId)
      .where("users.id", "=", person.userId)
      .where("accounts.closed_at", "is", null)
      .executeTakeFirst();
    if (client === undefined || user === undefined) return undefined;
    const { id } = await tx
      .insertInto("app_grants")
      .values({
        account_id: person.accountId,
        user_id: person.userId,
        client_id: clientId,
        client_epoch: epoch,
        scopes: [...scopes],
        created_at: at,
        expires_at: until,
        revoked_at: null,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    await audit(tx, {
      at,
      account: person.accountId,
      actor: user.username,
      action: "app_grant_create",
      target: `oauth_client/${clientId}`,
      detail: { app_grant: id, scopes },
    });
    return { accountId: person.accountId, id };
  });

/**
 * Extends a grant to the expiry of a token issued from it. False: the grant is no longer valid, and no token may be
 * issued. The row stays locked, so that a concurrent revocation is either seen here or covers the new token.
 */
export async function extendAppGrant(tx: Tx, grant: AppGrantRef, now: Date, until: Date): Promise<boolean> {
  const extended = await tx
    .updateTable("app_grants")
    .set({ expires_at: sql<Date>`greatest(expires_at, ${until})` })
    .where("account_id", "=", grant.accountId)
    .where("id", "=", grant.id)
    .where(({ exists }) =>
      exists(
        liveAppGrants(tx, now)
          .select("oauth_clients.id")
          .where("app_grants.account_id", "=", grant.accountId)
          .where("app_grants.id", "=", grant.id),
      ),
    )
    .where("revoked_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  return extended !== undefined;
}

/** This one row ends everything that was issued from the grant. */
export const closeAppGrant = (db: Db, { accountId, id }: AppGrantRef, at: Date): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const closed = await tx
      .updateTable("app_grants")
      .set({ revoked_at: at })
      .where("account_id", "=", accountId)
      .where("id", "=", id)
      .where("revoked_at", "is", null)
      .returning("client_id")
      .executeTakeFirst();
    if (closed === undefined) return;
    const actor = `oauth_client/${closed.client_id}`;
    await audit(tx, { at, account: accountId, actor, action: "app_grant_revoke", target: `app_grant/${id}` });
  });

/** By the person who granted it, in the transaction that records it. The caller has locked the grant. */
export const revokeAppGrant = (tx: Tx, { accountId, id }: AppGrantRef, at: Date): Promise<unknown> =>
  tx
    .updateTable("app_grants")
    .set({ revoked_at: at })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();

/** Those of all users of an account. */
export const revokeAllAppGrants = (tx: Tx, accountId: number, at: Date): Promise<unknown> =>
  tx
    .updateTable("app_grants")
    .set({ revoked_at: at })
    .where("account_id", "=", accountId)
    .where("revoked_at", "is", null)
    .execute();
