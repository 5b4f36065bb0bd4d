import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Id, page, Timestamp } from "./wire.ts";

export const Login = z.object({
  id: z.int(),
  datetime: Timestamp,
  ip: z.string(),
  restricted: z.boolean(),
  status: z.enum(["successful", "failed"]),
  username: z.string(),
});
export type Login = z.output<typeof Login>;

export const login = z.object({ loginId: Id });

export const listAccountLogins = defineOperation({
  id: "listAccountLogins",
  summary: "List the logins of all users in the last 90 days",
  tag: "Users",
  method: "GET",
  path: "/v4/account/logins",
  access: { scopes: ["account:read_only"], unrestrictedOnly: true },
  paged: true,
  rate: "collection",
  reply: page(Login),
});

export const viewAccountLogin = defineOperation({
  id: "viewAccountLogin",
  summary: "View a login of any user",
  tag: "Users",
  method: "GET",
  path: "/v4/account/logins/:loginId",
  access: { scopes: ["account:read_only"], unrestrictedOnly: true },
  params: login,
  rate: "single",
  reply: Login,
});
