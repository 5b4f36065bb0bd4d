import { z } from "zod";
import { Email } from "../email.ts";
import { defineOperation } from "../operation.ts";
import { Username } from "../users.ts";
import { Timestamp } from "../wire.ts";
import { account, user, whole } from "./fields.ts";

export const NewUser = z.object({
  username: Username,
  email: Email.describe("e-mail address of the user"),
  restricted: z.boolean().describe("permit only what is granted"),
});
export const User = z.object({
  id: z.int(),
  username: z.string(),
  email: z.string(),
  restricted: z.boolean(),
  created: Timestamp,
});
export type User = z.output<typeof User>;

const Permission = z.enum(["read_only", "read_write"]);
const globalsOf = <Field extends z.ZodType>(field: Field) =>
  z.object({ account_read: field, account_write: field, add_databases: field, add_images: field });
const entityGrants = z
  .array(z.object({ id: z.int().positive(), permissions: Permission.nullable() }))
  .max(1000, "at most 1,000 entries in one request; the grants on other objects stay")
  .default([]);
export const GrantsChange = z.object({
  global: globalsOf(z.boolean()).partial().default({}),
  database: entityGrants,
  compute: entityGrants,
});
const Held = z.object({ id: z.int(), label: z.string(), permissions: Permission.nullable() });
/** The grants of a restricted user. An unrestricted one has none, and needs none. */
export const Grants = z.object({
  username: z.string(),
  restricted: z.boolean(),
  global: globalsOf(z.boolean()),
  database: z.array(Held),
  compute: z.array(Held),
});
export type Grants = z.output<typeof Grants>;

const common = { audience: "operator", tag: "Users and tokens" } as const;

export const listUsers = defineOperation({
  ...common,
  id: "listUsers",
  summary: "List the users of an account",
  method: "GET",
  path: "/admin/accounts/:accountId/users",
  params: account,
  reply: whole(User),
});

export const saveUser = defineOperation({
  ...common,
  id: "saveUser",
  summary: "Create a user",
  note: "A repetition with the same name changes e-mail address and restriction.",
  method: "POST",
  path: "/admin/accounts/:accountId/users",
  params: account,
  body: NewUser,
  reply: User,
});

export const viewGrants = defineOperation({
  ...common,
  id: "viewGrants",
  summary: "Show the grants of a user on the account, on databases and on compute instances",
  method: "GET",
  path: "/admin/accounts/:accountId/users/:username/grants",
  params: user,
  reply: Grants,
});

export const setGrants = defineOperation({
  ...common,
  id: "setGrants",
  summary: "Change the named grants of a user and keep the others",
  method: "POST",
  path: "/admin/accounts/:accountId/users/:username/grants",
  params: user,
  body: GrantsChange,
  reply: Grants,
});

export const createPasswordLink = defineOperation({
  ...common,
  id: "createPasswordLink",
  summary: "Create and print a one-time link with which a user sets a password, if no mail can be sent",
  method: "POST",
  path: "/admin/accounts/:accountId/users/:username/password-link",
  params: user,
  reply: z.object({ username: z.string(), link: z.string(), expires: Timestamp }),
});

export const turnOffTwoFactor = defineOperation({
  ...common,
  id: "turnOffTwoFactor",
  summary: "Turn off two-factor sign-in of a user who lost the authenticator and the scratch codes",
  method: "POST",
  path: "/admin/accounts/:accountId/users/:username/two-factor/off",
  params: user,
  reply: z.object({ username: z.string(), two_factor: z.boolean() }),
});
