import { randomBytes } from "node:crypto";
import type { EventEntity } from "@moorage/contract";
import { sha256 } from "#platform/sha256.ts";

/** Shown instead of a secret that was shown before. */
export const REDACTED = "<REDACTED>";

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
