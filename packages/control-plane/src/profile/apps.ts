import { sql } from "kysely";
import { revokeAppGrant } from "#auth/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import { recordTokenChange } from "./owner.ts";
import type { ProfileDeps } from "./update-profile.ts";

export type AppRow = Awaited<ReturnType<typeof findApp>>;

export const findApp = (db: Db | Tx, by: Principal, id: number, now: Date) =>
  ownApps(db, by, now).where("app_grants.id", "=", id).executeTakeFirstOrThrow(notFound);

export const listAppPage = (db: Db, by: Principal, page: PageRequest, filter: Filter, now: Date) =>
  listPage(ownApps(db, by, now), {
    page,
    filter,
    columns: {
      label: sql.ref("oauth_clients.label"),
      created: sql.ref("app_grants.created_at"),
      expiry: sql.ref("app_grants.expires_at"),
    },
    lastly: { by: "app_grants.id" },
  });

/** Invalidates every access and refresh token of this consent at once. */
export async function revokeApp({ db, clock }: ProfileDeps, by: Principal, id: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const now = clock();
    const { label, client_id } = await lockApp(tx, by, id, now);
    await revokeAppGrant(tx, { accountId: by.accountId, id }, now);
    await recordTokenChange(tx, by, {
      audited: "revoke_app",
      event: "token_delete",
      of: { kind: "apps", id, label },
      at: now,
      detail: { app: client_id },
    });
  });
  await notify(db, "identity");
}

/** The client is not locked: an app with many users must not wait for one of them. */
const lockApp = (tx: Tx, by: Principal, id: number, now: Date) =>
  ownApps(tx, by, now).where("app_grants.id", "=", id).forUpdate("app_grants").executeTakeFirstOrThrow(notFound);

/**
 * The user's grants that are neither revoked nor expired. Apps that the operator disabled are included: they may be
 * enabled again.
 */
const ownApps = (db: Db | Tx, by: Principal, now: Date) =>
  db
    .selectFrom("app_grants")
    .innerJoin("oauth_clients", (join) =>
      join
        .onRef("oauth_clients.id", "=", "app_grants.client_id")
        .onRef("oauth_clients.epoch", "=", "app_grants.client_epoch"),
    )
    .select(["app_grants.id", "app_grants.scopes", "app_grants.created_at", "app_grants.expires_at"])
    .select(["oauth_clients.id as client_id", "oauth_clients.label", "oauth_clients.redirect_uri"])
    .select(
      sql<boolean>`exists (select from oauth_client_thumbnails t where t.client_id = oauth_clients.id)`.as(
        "has_thumbnail",
      ),
    )
    .where("app_grants.account_id", "=", by.accountId)
    .where("app_grants.user_id", "=", by.userId)
    .where("app_grants.revoked_at", "is", null)
    .where("app_grants.expires_at", ">", now)
    .where("oauth_clients.deleted_at", "is", null);
