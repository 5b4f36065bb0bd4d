import { z } from "zod";
import { Email } from "./email.ts";
import { Grants, GrantsChange } from "./grants.ts";
import { defineOperation } from "./operation.ts";
import { Empty, page, Timestamp } from "./wire.ts";

const USERNAME = "3 to 32 letters and digits, with single - or _ between them";
export const Username = z
  .string({ error: USERNAME })
  .min(3, USERNAME)
  .max(32, USERNAME)
  .regex(/^[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*$/, USERNAME);
const RESTRICTED = "true or false";

export const User = z.object({
  username: z.string(),
  email: z.string(),
  restricted: z.boolean(),
  ssh_keys: z.array(z.string()),
  tfa_enabled: z.boolean(),
  verified_phone_number: z.string().nullable(),
  password_created: Timestamp.nullable(),
  last_login: z.object({ login_datetime: Timestamp, status: z.enum(["successful", "failed"]) }).nullable(),
  user_type: z.literal("default"),
});
export type User = z.output<typeof User>;

export const NewUser = z.object({
  username: Username,
  email: Email,
  restricted: z.boolean({ error: RESTRICTED }).default(true),
});
export type NewUser = z.output<typeof NewUser>;
export const UserChange = z
  .object({ username: Username, email: Email, restricted: z.boolean({ error: RESTRICTED }) })
  .partial();
export type UserChange = z.output<typeof UserChange>;

const user = z.object({ username: z.string().max(64) });
const view = { scopes: ["account:read_only"], unrestrictedOnly: true } as const;
const change = { scopes: ["account:read_write"], confirmed: true, unrestrictedOnly: true } as const;

export const listUsers = defineOperation({
  id: "listUsers",
  summary: "List the users of the account",
  tag: "Users",
  method: "GET",
  path: "/v4/account/users",
  access: view,
  paged: true,
  filterable: { username: "string" },
  rate: "collection",
  reply: page(User),
});

export const createUser = defineOperation({
  id: "createUser",
  summary: "Create a user, who gets a mail with a link to choose a password",
  tag: "Users",
  method: "POST",
  path: "/v4/account/users",
  access: change,
  body: NewUser,
  rate: "single",
  emits: ["user_create"],
  reply: User,
});

export const viewUser = defineOperation({
  id: "viewUser",
  summary: "View a user",
  tag: "Users",
  method: "GET",
  path: "/v4/account/users/:username",
  access: view,
  params: user,
  rate: "single",
  reply: User,
});

export const updateUser = defineOperation({
  id: "updateUser",
  summary: "Change a user's name, address or restriction",
  note: "Another `email` counts once the user has confirmed it, with a link that is sent there; until then the answer has the present one. That of a user without a password changes at once.",
  tag: "Users",
  method: "PUT",
  path: "/v4/account/users/:username",
  access: change,
  params: user,
  body: UserChange,
  rate: "single",
  emits: ["user_update"],
  reply: User,
});

export const deleteUser = defineOperation({
  id: "deleteUser",
  summary: "Delete a user, with their tokens, passkeys and sessions",
  tag: "Users",
  method: "DELETE",
  path: "/v4/account/users/:username",
  access: change,
  params: user,
  rate: "single",
  emits: ["user_delete"],
  reply: Empty,
});

export const viewUserGrants = defineOperation({
  id: "viewUserGrants",
  summary: "View what a restricted user may do",
  tag: "Users",
  method: "GET",
  path: "/v4/account/users/:username/grants",
  access: view,
  params: user,
  rate: "single",
  mayBeEmpty: "The user is not restricted and may do everything.",
  reply: Grants,
});

export const updateUserGrants = defineOperation({
  id: "updateUserGrants",
  summary: "Change what a restricted user may do: what is named changes, the rest stays",
  tag: "Users",
  method: "PUT",
  path: "/v4/account/users/:username/grants",
  access: change,
  params: user,
  body: GrantsChange,
  rate: "single",
  emits: ["user_update"],
  reply: Grants,
});
