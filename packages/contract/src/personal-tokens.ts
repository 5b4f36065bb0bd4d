import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Empty, Id, Moment, page, Timestamp } from "./wire.ts";

const LABEL = "1 to 100 characters";
const TokenLabel = z.string({ error: LABEL }).min(1, LABEL).max(100, LABEL);

export const PersonalToken = z.object({
  id: z.int(),
  label: z.string(),
  scopes: z.string(),
  created: Timestamp,
  expiry: Timestamp.nullable(),
  /** The whole token in the answer to its creation; after that its first 16 characters. */
  token: z.string(),
});
export type PersonalToken = z.output<typeof PersonalToken>;
const SCOPES = "scopes such as databases:read_only, with spaces between them, or *";
export const NewPersonalToken = z.object({
  label: TokenLabel.optional(),
  /** Absent, or `*`: the scopes of the requesting token. */
  scopes: z.string({ error: SCOPES }).max(2048, SCOPES).nullish(),
  expiry: Moment.nullish(),
});
export type NewPersonalToken = z.output<typeof NewPersonalToken>;
export const PersonalTokenChange = z.object({ label: TokenLabel }).partial();
export type PersonalTokenChange = z.output<typeof PersonalTokenChange>;

const read = { scopes: ["account:read_only"] } as const;
const write = { scopes: ["account:read_write"] } as const;

const token = z.object({ tokenId: Id });

export const listPersonalTokens = defineOperation({
  id: "listPersonalTokens",
  summary: "List your personal access tokens",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/tokens",
  access: read,
  paged: true,
  filterable: { label: "string", created: "date" },
  rate: "collection",
  reply: page(PersonalToken),
});

export const createPersonalToken = defineOperation({
  id: "createPersonalToken",
  summary: "Create a personal access token, with no more rights than the one that asks",
  tag: "Profile",
  method: "POST",
  path: "/v4/profile/tokens",
  access: { ...write, confirmed: true },
  body: NewPersonalToken,
  rate: "single",
  emits: ["token_create"],
  secretReply: true,
  reply: PersonalToken,
});

export const viewPersonalToken = defineOperation({
  id: "viewPersonalToken",
  summary: "View a personal access token",
  tag: "Profile",
  method: "GET",
  path: "/v4/profile/tokens/:tokenId",
  access: read,
  params: token,
  rate: "single",
  reply: PersonalToken,
});

export const updatePersonalToken = defineOperation({
  id: "updatePersonalToken",
  summary: "Change the label of a personal access token",
  tag: "Profile",
  method: "PUT",
  path: "/v4/profile/tokens/:tokenId",
  access: write,
  params: token,
  body: PersonalTokenChange,
  rate: "single",
  emits: ["token_update"],
  reply: PersonalToken,
});

export const deletePersonalToken = defineOperation({
  id: "deletePersonalToken",
  summary: "Revoke a personal access token",
  tag: "Profile",
  method: "DELETE",
  path: "/v4/profile/tokens/:tokenId",
  access: write,
  params: token,
  rate: "single",
  emits: ["token_delete"],
  reply: Empty,
});
