import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { isRegistrable, REGISTRABLE } from "./redirect-uri.ts";
import { Empty, page } from "./wire.ts";

export const OAuthClient = z.object({
  id: z.string(),
  label: z.string(),
  public: z.boolean(),
  redirect_uri: z.string(),
  /** In plain text when the client is created and when its secret is reset. */
  secret: z.string(),
  status: z.enum(["active", "disabled", "suspended"]),
  thumbnail_url: z.string().nullable(),
});
export type OAuthClient = z.output<typeof OAuthClient>;

const LABEL =
  "1 to 512 characters, not beginning with a space, without control characters and marks that turn text around";
/** People read it on the consent page: it must not look empty, nor change the direction of the text around it. */
const shownAsWritten = /^(?!\s)[^\p{Cc}\u202a-\u202e\u2066-\u2069]*$/u;
const Label = z.string({ error: LABEL }).min(1, LABEL).max(512, LABEL).regex(shownAsWritten, LABEL);
const RedirectUri = z.string({ error: REGISTRABLE }).max(2048, REGISTRABLE).refine(isRegistrable, REGISTRABLE);
const Public = z.boolean({ error: "true or false" });

export const NewOAuthClient = z.object({ label: Label, redirect_uri: RedirectUri, public: Public.default(false) });
export type NewOAuthClient = z.output<typeof NewOAuthClient>;
export const OAuthClientChange = z.object({ label: Label, redirect_uri: RedirectUri, public: Public }).partial();
export type OAuthClientChange = z.output<typeof OAuthClientChange>;

const client = z.object({ clientId: z.string().max(64) });
const view = { scopes: ["account:read_only"], grant: "account_read" } as const;
const change = { scopes: ["account:read_write"], grant: "account_write" } as const;

export const listOAuthClients = defineOperation({
  id: "listOAuthClients",
  summary: "List the OAuth clients of the account",
  tag: "OAuth clients",
  method: "GET",
  path: "/v4/account/oauth-clients",
  access: view,
  paged: true,
  filterable: { label: "string", public: "boolean" },
  rate: "collection",
  reply: page(OAuthClient),
});

export const createOAuthClient = defineOperation({
  id: "createOAuthClient",
  summary: "Register an OAuth client; its secret is shown once",
  tag: "OAuth clients",
  method: "POST",
  path: "/v4/account/oauth-clients",
  access: change,
  body: NewOAuthClient,
  rate: "single",
  emits: ["oauth_client_create"],
  secretReply: true,
  reply: OAuthClient,
});

export const viewOAuthClient = defineOperation({
  id: "viewOAuthClient",
  summary: "View an OAuth client",
  tag: "OAuth clients",
  method: "GET",
  path: "/v4/account/oauth-clients/:clientId",
  access: view,
  params: client,
  rate: "single",
  reply: OAuthClient,
});

export const updateOAuthClient = defineOperation({
  id: "updateOAuthClient",
  summary: "Update an OAuth client",
  tag: "OAuth clients",
  method: "PUT",
  path: "/v4/account/oauth-clients/:clientId",
  access: change,
  params: client,
  body: OAuthClientChange,
  rate: "single",
  emits: ["oauth_client_update"],
  reply: OAuthClient,
});

export const deleteOAuthClient = defineOperation({
  id: "deleteOAuthClient",
  summary: "Delete an OAuth client: every token that it was given ends",
  tag: "OAuth clients",
  method: "DELETE",
  path: "/v4/account/oauth-clients/:clientId",
  access: change,
  params: client,
  rate: "single",
  emits: ["oauth_client_delete"],
  reply: Empty,
});

export const resetOAuthClientSecret = defineOperation({
  id: "resetOAuthClientSecret",
  summary: "Give an OAuth client a new secret; the old one ends at once",
  tag: "OAuth clients",
  method: "POST",
  path: "/v4/account/oauth-clients/:clientId/reset-secret",
  aliases: ["/v4/account/oauth-clients/:clientId/reset_secret"],
  access: change,
  params: client,
  rate: "single",
  emits: ["oauth_client_secret_reset"],
  secretReply: true,
  reply: OAuthClient,
});

export const viewOAuthClientThumbnail = defineOperation({
  id: "viewOAuthClientThumbnail",
  summary: "View the thumbnail of an OAuth client",
  tag: "OAuth clients",
  method: "GET",
  path: "/v4/account/oauth-clients/:clientId/thumbnail",
  access: "public",
  params: client,
  rate: "single",
  cacheSeconds: 60,
  download: "image/png",
  reply: z.instanceof(Uint8Array),
});

export const updateOAuthClientThumbnail = defineOperation({
  id: "updateOAuthClientThumbnail",
  summary: "Give an OAuth client a thumbnail, which everybody can see",
  tag: "OAuth clients",
  method: "PUT",
  path: "/v4/account/oauth-clients/:clientId/thumbnail",
  access: change,
  params: client,
  upload: { types: ["image/png", "image/jpeg", "image/gif"], mostBytes: 1024 * 1024 },
  rate: "single",
  emits: ["oauth_client_update"],
  reply: Empty,
});
