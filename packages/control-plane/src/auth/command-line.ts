import type { ClientMetadata } from "oidc-provider";
import type { Tx } from "#platform/db/database.ts";
import type { Own } from "./client-metadata.ts";
import type { Person } from "./interactions.ts";

/**
 * `moorage login`: a public client that every installation has. It gets a personal token instead of a refresh token, so
 * that several processes can use it at once and people find it in their list of tokens. See docs/adr/0022.
 */
export const COMMAND_LINE = "moorage-cli";
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

export const commandLineClient: ClientMetadata & Own = {
  client_id: COMMAND_LINE,
  client_name: "Moorage command line",
  // On any port: see isSameRedirect.
  redirect_uris: ["http://127.0.0.1/callback"],
  response_types: ["code"],
  grant_types: ["authorization_code", DEVICE_GRANT],
  application_type: "native",
  token_endpoint_auth_method: "none",
  epoch: 0,
  is_public: true,
  may_add_query: false,
  account_id: 0,
  verified: true,
};

const LONGEST_NAME = 60;

/**
 * The computer's name comes from an untrusted client: it is cut to one short line without characters that change the
 * reading order.
 */
export function machineOf(deviceName: unknown): string {
  const name = typeof deviceName === "string" ? deviceName.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim() : "";
  return Array.from(name).slice(0, LONGEST_NAME).join("") || "an unnamed computer";
}

export const labelOf = (machine: string): string => `moorage login on ${machine}`;

/** Personal tokens that were issued to a program, which can revoke them. */
export type LoginTokens = {
  issue(
    tx: Tx,
    login: { person: Person; clientId: string; token: string; label: string; scopes: string[]; expires: Date },
  ): Promise<void>;
  find(
    clientId: string,
    token: string,
  ): Promise<{ person: Person; scopes: string[]; createdAt: Date; expiresAt: Date | null } | undefined>;
  revoke(clientId: string, tokenSha256: Buffer): Promise<void>;
};
