import type { OAuthClient } from "@moorage/contract";
import type { OAuthClientRow } from "./client-store.ts";
import { REDACTED } from "./oauth-client.ts";

export const viewOfClient = (
  { id, label, public: isPublic, redirect_uri, status, has_thumbnail }: OAuthClientRow,
  publicUrl: string | undefined,
  secret: string = REDACTED,
): OAuthClient => ({
  id,
  label,
  public: isPublic,
  redirect_uri,
  secret,
  status,
  thumbnail_url: has_thumbnail ? thumbnailUrl(publicUrl, id) : null,
});

/**
 * The public address of a client's thumbnail. Without a configured public address it is only the path: the Host header
 * of a request must not be echoed as our address.
 */
export const thumbnailUrl = (publicUrl: string | undefined, id: string): string =>
  `${publicUrl ?? ""}/v4/account/oauth-clients/${id}/thumbnail`;
