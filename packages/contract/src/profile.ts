import { z } from "zod";
import { Grants } from "./grants.ts";
import { Login, login } from "./logins.ts";
import { defineOperation } from "./operation.ts";
import { Email } from "./email.ts";
import { Empty, Id, longestTexts, page, Timestamp } from "./wire.ts";

export const Profile = z.object({
  uid: z.int(),
  username: z.string(),
  email: z.string(),
  timezone: z.string(),
  email_notifications: z.boolean(),
  restricted: z.boolean(),
  two_factor_auth: z.boolean(),
  lish_auth_method: z.enum(["password_keys", "keys_only", "disabled"]),
  authorized_keys: z.array(z.string()),
  verified_phone_number: z.string().nullable(),
  authentication_type: z.literal("password"),
  referrals: z.object({
    code: z.string(),
    url: z.string(),
    total: z.int(),
    completed: z.int(),
    pending: z.int(),
    credit: z.number(),
  }),
});
export type Profile = z.output<typeof Profile>;

const TIMEZONE = "a time zone such as Europe/Berlin";
const zones = new Set([...Intl.supportedValuesOf("timeZone"), "UTC", "GMT"]);
export const ProfileChange = z
  .object({
    email: Email,
    timezone: z
      .string({ error: TIMEZONE })
      .refine((zone) => zones.has(zone), TIMEZONE)
      .register(longestTexts, { longest: 100 }),
    email_notifications: z.boolean({ error: "true or false" }),
    lish_auth_method: z.enum(["password_keys", "keys_only", "disabled"], {
      error: "password_keys, keys_only or disabled",
    }),
    authorized_keys: z.array(z.string().max(8192), { error: "a list of public SSH keys" }).max(100).nullable(),
  })
  .partial();
export type ProfileChange = z.output<typeof ProfileChange>;

/** Arbitrary data, stored for the caller's own user interface. */
export const Preferences = z.looseObject({});
export const MOST_PREFERENCE_CHARACTERS = 65_535;

/** An app that this user has authorised. */
export const AuthorizedApp = z.object({
  id: z.int(),
  label: z.string(),
  scopes: z.string(),
  created: Timestamp,
  expiry: Timestamp.nullable(),
  thumbnail_url: z.string().nullable(),
  website: z.string().nullable(),
});
export type AuthorizedApp = z.output<typeof AuthorizedApp>;

const own = { scopes: [] } as const;
const read = { scopes: ["account:read_only"] } as const;
const write = { scopes: ["account:read_write"] } as const;
const confirmed = { ...write, confirmed: true } as const;

export const viewProfile = defineOperation({
  id: "viewProfile",
  summary: "View your profile",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile",
  access: own,
  rate: "single",
  reply: Profile,
});

export const updateProfile = defineOperation({
  id: "updateProfile",
  summary: "Update your profile",
  note: "Another `email` counts once you have confirmed it, with a link that is sent there; until then the answer has the present one. It needs a personal token that has every scope (`*`), or that its user has just confirmed at the login host.",
  tag: "Profile",
  method: "PUT",
  path: "/v4/profile",
  access: write,
  body: ProfileChange,
  rate: "single",
  emits: ["profile_update"],
  reply: Profile,
});

export const viewProfileGrants = defineOperation({
  id: "viewProfileGrants",
  summary: "View what you may do, if you are restricted",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/grants",
  access: own,
  rate: "single",
  mayBeEmpty: "You are not restricted and may do everything.",
  reply: Grants,
});

export const viewPreferences = defineOperation({
  id: "viewPreferences",
  summary: "View your preferences",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/preferences",
  access: read,
  rate: "single",
  reply: Preferences,
});

export const updatePreferences = defineOperation({
  id: "updatePreferences",
  summary: "Replace your preferences",
  tag: "Profile",
  method: "PUT",
  path: "/v4/profile/preferences",
  access: write,
  body: Preferences,
  rate: "single",
  reply: Preferences,
});

const app = z.object({ appId: Id });

export const listAuthorizedApps = defineOperation({
  id: "listAuthorizedApps",
  summary: "List the apps that you let in",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/apps",
  access: read,
  paged: true,
  filterable: { label: "string", created: "date", expiry: "date" },
  rate: "collection",
  reply: page(AuthorizedApp),
});

export const viewAuthorizedApp = defineOperation({
  id: "viewAuthorizedApp",
  summary: "View an app that you let in",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/apps/:appId",
  access: read,
  params: app,
  rate: "single",
  reply: AuthorizedApp,
});

export const revokeAuthorizedApp = defineOperation({
  id: "revokeAuthorizedApp",
  summary: "Shut an app out: every token that it got from you ends",
  tag: "Profile",
  method: "DELETE",
  path: "/v4/profile/apps/:appId",
  access: write,
  params: app,
  rate: "single",
  emits: ["token_delete"],
  reply: Empty,
});

export const listLogins = defineOperation({
  id: "listLogins",
  summary: "List your logins of the last 90 days",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/logins",
  access: read,
  paged: true,
  rate: "collection",
  reply: page(Login),
});

export const viewLogin = defineOperation({
  id: "viewLogin",
  summary: "View one of your logins",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/logins/:loginId",
  access: read,
  params: login,
  rate: "single",
  reply: Login,
});

export const enableTfa = defineOperation({
  id: "enableTfa",
  summary: "Begin two-factor sign-in: a secret for your authenticator app, to be confirmed with a code",
  tag: "Profile",
  method: "POST",
  path: "/v4/profile/tfa-enable",
  access: confirmed,
  rate: "single",
  secretReply: true,
  reply: z.object({ secret: z.string(), expiry: Timestamp }),
});

const TFA_CODE = "the six digits that your authenticator app shows";
export const confirmTfa = defineOperation({
  id: "confirmTfa",
  summary: "Confirm two-factor sign-in with a code; the scratch codes are shown once",
  tag: "Profile",
  method: "POST",
  path: "/v4/profile/tfa-enable-confirm",
  access: confirmed,
  body: z.object({ tfa_code: z.string({ error: TFA_CODE }).regex(/^\d{6}$/, TFA_CODE) }),
  rate: "single",
  emits: ["tfa_enabled"],
  secretReply: true,
  /** `scratch` is the first of `scratch_codes`, for clients that expect only one. */
  reply: z.object({ scratch: z.string(), scratch_codes: z.array(z.string()) }),
});

export const disableTfa = defineOperation({
  id: "disableTfa",
  summary: "End two-factor sign-in",
  tag: "Profile",
  method: "POST",
  path: "/v4/profile/tfa-disable",
  access: confirmed,
  rate: "single",
  emits: ["tfa_disabled"],
  reply: Empty,
});
