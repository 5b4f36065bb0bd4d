import { sql } from "kysely";
import type { Principal } from "#identity/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import { notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter.ts";
import type { PageRequest } from "#platform/http/page.ts";

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

export type AppRow = Awaited<ReturnType<typeof findApp>>;

export const findApp = (db: Db | Tx, by: Principal, id: number, now: Date) =>
  ownApps(db, by, now).where("app_grants.id", "=", id).executeTakeFirstOrThrow(notFound);

/** The client is not locked: an app with many users must not wait for one of them. */
export const lockApp = (tx: Tx, by: Principal, id: number, now: Date) =>
  ownApps(tx, by, now).where("app_grants.id", "=", id).forUpdate("app_grants").executeTakeFirstOrThrow(notFound);

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

/** One row, however many tokens were issued from it: each is only valid while the grant is. */
export const saveRevoked = (tx: Tx, by: Principal, id: number, now: Date): Promise<unknown> =>
  tx
    .updateTable("app_grants")
    .set({ revoked_at: now })
    .where("account_id", "=", by.accountId)
    .where("id", "=", id)
    .execute();
