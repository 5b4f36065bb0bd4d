import { type AuthorizedApp, type PersonalToken, type Profile, toTimestamp } from "@moorage/contract";
import { thumbnailUrl } from "#oauth-clients/index.ts";
import type { UserRow } from "#users/index.ts";
import type { AppRow } from "./apps.ts";
import type { TokenRow } from "./token-store.ts";

export const viewOfProfile = (user: UserRow): Profile => ({
  uid: user.id,
  username: user.username,
  email: user.email,
  timezone: user.timezone,
  email_notifications: user.email_notifications,
  restricted: user.restricted,
  two_factor_auth: user.tfa_enabled_at !== null,
  lish_auth_method: user.lish_auth_method,
  authorized_keys: user.authorized_keys,
  verified_phone_number: null,
  authentication_type: "password",
  // Clients of this API family expect the field; there is no referral programme here.
  referrals: { code: "", url: "", total: 0, completed: 0, pending: 0, credit: 0 },
});

const orNull = (at: Date | null): string | null => (at === null ? null : toTimestamp(at));

/** Only the answer to its creation contains the full token. */
export const viewOfToken = (row: TokenRow, token = row.prefix): PersonalToken => ({
  id: row.id,
  label: row.label,
  scopes: row.scopes_as_sent ?? row.scopes.join(" "),
  created: toTimestamp(row.created_at),
  expiry: orNull(row.expires_at),
  token,
});

export const viewOfApp = (row: AppRow, publicUrl: string | undefined): AuthorizedApp => ({
  id: row.id,
  label: row.label,
  scopes: row.scopes.join(" "),
  created: toTimestamp(row.created_at),
  expiry: toTimestamp(row.expires_at),
  thumbnail_url: row.has_thumbnail ? thumbnailUrl(publicUrl, row.client_id) : null,
  website: websiteOf(row.redirect_uri),
});

/** A mobile or desktop app has none. */
const websiteOf = (redirectUri: string): string | null =>
  redirectUri.startsWith("https://") ? new URL(redirectUri).origin : null;
