import { randomBytes } from "node:crypto";
import type { EventEntity, OAuthClient } from "@moorage/contract";
import { sha256 } from "#platform/sha256.ts";
import type { OAuthClientRow } from "./client-store.ts";

/** Shown instead of a secret that was shown before. */
export const REDACTED = "<REDACTED>";

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

/** Public, not a secret. */
export const newClientId = (): string => randomBytes(10).toString("hex");

/** The plain text is in one answer; only its hash is stored. A public client has a secret too, but need not send it. */
export function newSecret(): { secret: string; secret_sha256: Buffer } {
  const secret = randomBytes(32).toString("hex");
  return { secret, secret_sha256: sha256(secret) };
}

/** The client in events and in the audit log. */
export const entityOfClient = (client: { id: string; label: string }) =>
  ({
    id: client.id,
    label: client.label,
    type: "oauth_client",
    url: `/v4/account/oauth-clients/${client.id}`,
  }) satisfies EventEntity;

export const targetOfClient = (id: string): string => `oauth_client/${id}`;
