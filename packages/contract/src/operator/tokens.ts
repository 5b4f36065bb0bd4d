import { z } from "zod";
import { defineOperation } from "../operation.ts";
import { Id, Timestamp, toTimestamp } from "../wire.ts";
import { account, Name, user, whole } from "./fields.ts";

const TokenScope = z
  .string()
  .regex(
    /^(?:\*|[a-z_]{1,64}:(?:\*|read_only|read_write))$/,
    "*, or an area with what may be done in it, such as databases:read_only",
  );
export const NewToken = z.object({
  label: Name.describe("label of the token, such as its purpose"),
  scopes: z
    .array(TokenScope)
    .min(1)
    .max(100, "at most 100 scopes")
    .describe("scopes, such as databases:read_write events:read_only, or '*' for all"),
  expires: z
    .string()
    .max(40)
    .refine(isTime, "a time in UTC, such as 2030-01-31T00:00:00")
    .describe("expiry in UTC, such as 2030-01-31T00:00:00 (default: never)")
    .nullable()
    .default(null),
});
export const Token = z.object({
  id: z.int(),
  username: z.string(),
  label: z.string(),
  prefix: z.string(),
  scopes: z.array(z.string()),
  created: Timestamp,
  expires: Timestamp.nullable(),
  revoked: Timestamp.nullable(),
});
export type Token = z.output<typeof Token>;

const common = { audience: "operator", tag: "Users and tokens" } as const;

export const listTokens = defineOperation({
  ...common,
  id: "listTokens",
  summary: "List the tokens of an account with their first characters",
  method: "GET",
  path: "/admin/accounts/:accountId/tokens",
  params: account,
  reply: whole(Token),
});

export const createToken = defineOperation({
  ...common,
  id: "createToken",
  summary: "Create a token and print it once",
  note: "A repetition creates another token.",
  method: "POST",
  path: "/admin/accounts/:accountId/users/:username/tokens",
  params: user,
  body: NewToken,
  reply: Token.omit({ created: true, revoked: true }).extend({ token: z.string() }),
});

export const revokeToken = defineOperation({
  ...common,
  id: "revokeToken",
  summary: "Revoke a token by its id",
  note: "Every process refuses it within 1 s.",
  method: "POST",
  path: "/admin/accounts/:accountId/tokens/:tokenId/revoke",
  params: account.extend({ tokenId: Id }),
  reply: Token,
});

/** The 30th of February would be parsed as a day in March. */
function isTime(text: string): boolean {
  const at = new Date(`${text}Z`);
  return Timestamp.safeParse(text).success && !Number.isNaN(at.getTime()) && toTimestamp(at) === text;
}
