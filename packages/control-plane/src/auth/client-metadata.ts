import { isSameRedirect } from "@moorage/contract";
import type { Client, ClientMetadata } from "oidc-provider";
import type { ClientRow } from "./client-store.ts";

/** Client metadata of our own, which the provider stores with the client. */
export const ownMetadata = ["epoch", "is_public", "may_add_query"] as const;
export type Own = { epoch: number; is_public: boolean; may_add_query: boolean };

export const ownOf = (client: Client): Own => client as unknown as Own;

/** Native apps need consent each time: another program may listen at the redirect address. */
const isNative = (redirectUri: string): boolean => !redirectUri.startsWith("https:");

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
});

export const isRedirectOf = (client: Client, given: string): boolean =>
  (client.redirectUris ?? []).some((registered) => isSameRedirect(registered, given, ownOf(client).may_add_query));

/** Web apps send requests from the origin of a redirect address; on a loopback address, from any port. */
export function isOriginOf(client: Client, origin: string): boolean {
  const [registered = ""] = client.redirectUris ?? [];
  const own = URL.canParse(registered) ? new URL(registered).origin : "null";
  return own !== "null" && isSameRedirect(own, origin);
}
