import { sql } from "kysely";
import { audit } from "#platform/audit.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Person } from "./interactions.ts";
import type { AppGrantRef } from "./names.ts";

/**
 * Not revoked, not over, and its client is as it was when the person agreed: there, open and of the same epoch. Neither
 * the person's account nor the client's is closed.
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

/** Undefined: the client is no longer what the person agreed to. */
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
 * A grant lasts as long as what comes of it. False: it is no longer live, and nothing may come of it any more. The row
 * stays locked, so that a revocation is either seen here or ends what is being written.
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

/** Everything that came of it ends with this one row. */
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
