import { z } from "zod";
import { OAuthClient as TenantsClient } from "../oauth-clients.ts";
import { defineOperation } from "../operation.ts";
import { page, Timestamp } from "../wire.ts";
import { ofAccount } from "./fields.ts";

export const OAuthClient = z.object({
  id: z.string(),
  account: z.int(),
  label: z.string(),
  redirect_uri: z.string(),
  public: z.boolean(),
  status: TenantsClient.shape.status,
  may_add_query: z.boolean(),
  verified: z.boolean(),
  created: Timestamp,
});
export type OAuthClient = z.output<typeof OAuthClient>;

const client = z.object({ clientId: z.string() });
const common = { audience: "operator", tag: "OAuth clients" } as const;

export const listOAuthClients = defineOperation({
  ...common,
  id: "listOAuthClients",
  summary: "List the OAuth clients of all accounts",
  method: "GET",
  path: "/admin/oauth-clients",
  query: ofAccount,
  paged: true,
  reply: page(OAuthClient),
});

export const setOAuthClientStatus = defineOperation({
  ...common,
  id: "setOAuthClientStatus",
  summary: "Block or unblock an OAuth client and its tokens",
  method: "POST",
  path: "/admin/oauth-clients/:clientId/status",
  params: client,
  body: z.object({ status: TenantsClient.shape.status }),
  reply: OAuthClient,
});

export const setOAuthClientTrust = defineOperation({
  ...common,
  id: "setOAuthClientTrust",
  summary: "Allow or forbid that an OAuth client adds a query to its redirect URI",
  method: "POST",
  path: "/admin/oauth-clients/:clientId/trust",
  params: client,
  body: z.object({ may_add_query: z.boolean() }),
  reply: OAuthClient,
});

export const setOAuthClientVerified = defineOperation({
  ...common,
  id: "setOAuthClientVerified",
  summary: "Allow or forbid that an OAuth client asks users of other accounts for consent",
  note: "A change of the label or the redirect URI by its account ends the verification. Consents that were given stay.",
  method: "POST",
  path: "/admin/oauth-clients/:clientId/verified",
  params: client,
  body: z.object({ verified: z.boolean() }),
  reply: OAuthClient,
});
