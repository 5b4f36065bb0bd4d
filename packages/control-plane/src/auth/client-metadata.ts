import { isSameRedirect } from "@moorage/contract";
import type { Selectable } from "kysely";
import type { Client, ClientMetadata } from "oidc-provider";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

type ClientRow = Selectable<Tables["oauth_clients"]>;

/** Client metadata of our own, which the provider stores with the client. */
export const ownMetadata = ["epoch", "is_public", "may_add_query", "account_id", "verified"] as const;
export type Own = {
  epoch: number;
  is_public: boolean;
  may_add_query: boolean;
  account_id: number;
  verified: boolean;
};

/** Clients that are deleted, disabled, suspended or of a closed account are not found. */
export const findClient = (db: Db, id: string): Promise<ClientRow | undefined> =>
  db
    .selectFrom("oauth_clients")
    .innerJoin("accounts", "accounts.id", "oauth_clients.account_id")
    .selectAll("oauth_clients")
    .where("oauth_clients.id", "=", id)
    .where("oauth_clients.status", "=", "active")
    .where("oauth_clients.deleted_at", "is", null)
    .where("accounts.closed_at", "is", null)
    .executeTakeFirst();

export async function hasThumbnail(db: Db, id: string): Promise<boolean> {
  const found = await db
    .selectFrom("oauth_client_thumbnails")
    .select("client_id")
    .where("client_id", "=", id)
    .executeTakeFirst();
  return found !== undefined;
}

/** What the account that registered the client calls itself. */
export async function nameOfOwner(db: Db, client: Client): Promise<string> {
  const { account_id: id } = ownOf(client);
  const account = await db.selectFrom("accounts").select(["company", "euuid"]).where("id", "=", id).executeTakeFirst();
  return account?.company.trim() || `account ${account?.euuid ?? id}`;
}

/**
 * A public client has a secret too but need not send it; a secret that is sent must be right. So the authentication
 * method depends on the request.
 */
export const metadataOf = (row: ClientRow, sendsSecret: boolean): ClientMetadata & Own => ({
  client_id: row.id,
  client_name: row.label,
  redirect_uris: [row.redirect_uri],
  response_types: ["code"],
  grant_types: ["authorization_code", "refresh_token"],
  application_type: isNative(row.redirect_uri) ? "native" : "web",
  token_endpoint_auth_method: row.public && !sendsSecret ? "none" : "client_secret_post",
  /** The hash of the secret. */
  client_secret: row.secret_sha256.toString("hex"),
  epoch: row.epoch,
  is_public: row.public,
  may_add_query: row.may_add_query,
  account_id: row.account_id,
  verified: row.verified,
});

/** Native apps need consent each time: another program may listen at the redirect address. */
const isNative = (redirectUri: string): boolean => !redirectUri.startsWith("https:");

export const ownOf = (client: Client): Own => client as unknown as Own;

export const isRedirectOf = (client: Client, given: string): boolean =>
  (client.redirectUris ?? []).some((registered) => isSameRedirect(registered, given, ownOf(client).may_add_query));

/** Web apps send requests from the origin of a redirect address; on a loopback address, from any port. */
export function isOriginOf(client: Client, origin: string): boolean {
  const [registered = ""] = client.redirectUris ?? [];
  const own = URL.canParse(registered) ? new URL(registered).origin : "null";
  return own !== "null" && isSameRedirect(own, origin);
}
