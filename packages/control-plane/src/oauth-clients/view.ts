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
 * Where everybody finds a client's thumbnail. Without a public address of ours it is the path alone: what a caller
 * writes into Host must not come back as an address of ours.
 */
export const thumbnailUrl = (publicUrl: string | undefined, id: string): string =>
  `${publicUrl ?? ""}/v4/account/oauth-clients/${id}/thumbnail`;
