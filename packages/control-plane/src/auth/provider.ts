import {
  type Configuration,
  errors,
  interactionPolicy,
  type JWK,
  type KoaContextWithOIDC,
  Provider,
} from "oidc-provider";
import type { Db } from "#platform/db/database.ts";
import { isDatabaseTimeout } from "#platform/db/database-timeout.ts";
import type { Log } from "#platform/log.ts";
import { type AdapterDeps, createAdapter } from "./adapter.ts";
import { isOriginOf, ownMetadata, ownOf } from "./client-metadata.ts";
import { COMMAND_LINE, commandLineClient } from "./command-line.ts";
import type { Person } from "./interactions.ts";
import { adjustModels } from "./models.ts";
import { personOf } from "./names.ts";
import { DEVICE_REFUSED, deviceFault, errorText, type Pages } from "./pages.ts";
import { allScopes, ofApi, OPENID } from "./scopes.ts";
import { oauthTexts } from "./texts.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** In seconds. */
export const lifetimes = {
  accessToken: 2 * HOUR,
  code: 10 * MINUTE,
  /** Each refresh issues a new one with this lifetime. */
  refreshToken: 14 * DAY,
  interaction: HOUR,
  idToken: HOUR,
  /** How long a person has to type in the code that a device shows. */
  deviceCode: 10 * MINUTE,
  /** The token by which the command line stays signed in. */
  commandLineToken: 90 * DAY,
  session: { idle: 12 * HOUR, whole: 7 * DAY },
} as const;

/** The client by which our own pages sign people in. It gets a session, but no code and no token. */
export const OWN_PAGES = "moorage-pages";
export const SIGNED_IN = "/signed-in";

export const paths = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  revoke: "/oauth/revoke",
  deviceAuthorization: "/oauth/device_authorization",
  /** The page on which a person types in the code that a device shows. */
  device: "/device",
  jwks: "/oauth/jwks",
  logout: "/logout",
} as const;

type ProviderDeps = AdapterDeps & {
  log: Log;
  /** The public address of this server. */
  issuer: string;
  signingKey: JWK;
  cookieKeys: string[];
  pages: Pages;
};

export function createProvider(deps: ProviderDeps): Provider {
  const provider = new Provider(deps.issuer, configurationOf(deps));
  // Our own server in front sets the address headers: see hand-over.ts.
  provider.proxy = true;
  adjustModels(provider);
  provider.on("server_error", (ctx, error) => {
    deps.log.error({ err: error }, "the authorization server failed");
    if (ctx.status === 500 && isDatabaseTimeout(error)) ctx.status = 503;
  });
  // Koa's event: without a listener it writes to the console.
  provider.on("error" as "server_error", (error) => deps.log.error({ err: error }, "the authorization server failed"));
  return provider;
}

const configurationOf = (deps: ProviderDeps): Configuration => ({
  adapter: createAdapter(deps),
  jwks: { keys: [deps.signingKey] },
  clients: [
    {
      client_id: OWN_PAGES,
      redirect_uris: [`${deps.issuer}${SIGNED_IN}`],
      response_types: ["none"],
      grant_types: [],
      token_endpoint_auth_method: "none",
    },
    commandLineClient,
  ],
  extraClientMetadata: { properties: [...ownMetadata] },
  clientAuthMethods: ["none", "client_secret_post", "client_secret_basic"],
  clientBasedCORS: (_ctx, origin, client) => isOriginOf(client, origin),
  cookies: cookiesOf(deps),
  routes: {
    authorization: paths.authorize,
    token: paths.token,
    revocation: paths.revoke,
    jwks: paths.jwks,
    end_session: paths.logout,
    device_authorization: paths.deviceAuthorization,
    code_verification: paths.device,
  },
  responseTypes: ["code", "none"],
  scopes: [OPENID, ...allScopes],
  claims: { openid: ["sub"] },
  extraParams: { scopes: requireKnownScopes, device_name: null },
  pkce: { required: (_ctx, client) => ownOf(client).is_public },
  ttl: {
    AccessToken: (_ctx, _token, client) =>
      client.clientId === COMMAND_LINE ? lifetimes.commandLineToken : lifetimes.accessToken,
    AuthorizationCode: lifetimes.code,
    DeviceCode: lifetimes.deviceCode,
    RefreshToken: lifetimes.refreshToken,
    Grant: lifetimes.refreshToken,
    IdToken: lifetimes.idToken,
    Interaction: lifetimes.interaction,
    Session: (_ctx, session) => sessionSeconds(session.loginTs, Math.floor(Date.now() / 1000)),
  },
  issueRefreshToken: async (_ctx, client) => client.clientId !== COMMAND_LINE,
  rotateRefreshToken: true,
  // Apps keep their access when the person signs out here; it is revoked under /profile/apps.
  expiresWithSession: async () => false,
  revokeGrantPolicy: () => true,
  findAccount: async (_ctx, name) => {
    const person = personOf(name);
    if (person === undefined || !(await findPerson(deps.db, person))) return undefined;
    return { accountId: name, claims: async () => ({ sub: name }) };
  },
  loadExistingGrant: findGrant,
  interactions: { policy: interactionsPolicy(), url: (_ctx, { uid }) => `/interaction/${uid}` },
  renderError: (ctx, { error }, cause) => {
    ctx.type = "html";
    ctx.body = deps.pages.error(errorText(error, cause));
  },
  features: {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    resourceIndicators: { enabled: false },
    deviceFlow: deviceFlowOf(deps),
    revocation: {
      enabled: true,
      // A token of another client is answered like an unknown one.
      allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx) => {
        const xsrf = String((ctx.oidc.session?.state as { secret: string } | undefined)?.secret);
        ctx.body = deps.pages.signOut({ action: paths.logout, fields: { xsrf, logout: "yes" } });
      },
      postLogoutSuccessSource: (ctx) => {
        ctx.type = "html";
        ctx.body = deps.pages.signedOut();
      },
    },
  },
});

/** Browsers accept a cookie with this prefix only from this host, over https. */
function cookiesOf({ issuer, cookieKeys }: ProviderDeps): NonNullable<Configuration["cookies"]> {
  const secure = issuer.startsWith("https:");
  const flags = { httpOnly: true, sameSite: "lax", signed: true, secure, overwrite: true } as const;
  return {
    names: {
      session: secure ? "__Host-moorage-session" : "moorage-session",
      interaction: secure ? "__Secure-moorage-interaction" : "moorage-interaction",
      resume: secure ? "__Secure-moorage-resume" : "moorage-resume",
    },
    long: { ...flags, path: "/" },
    short: flags,
    keys: cookieKeys,
  };
}

/** Called for every request, since `scopes` is our own parameter. At this point an error can be sent to the app. */
function requireKnownScopes(ctx: KoaContextWithOIDC): void {
  if (ctx.oidc.client?.clientId === OWN_PAGES) return;
  // As it was sent: the provider has already removed unknown scopes from its own list.
  const given = ctx.query.scope ?? ctx.oidc.body?.scope;
  const requested = (typeof given === "string" ? given : "").split(" ").filter((each) => each !== "");
  const unknown = ofApi(requested).filter((scope) => !allScopes.includes(scope));
  if (unknown.length > 0)
    throw new errors.CustomOIDCProviderError("invalid_scope", oauthTexts.scopeUnknown({ scopes: unknown }).text);
  if (ofApi(requested).length === 0)
    throw new errors.CustomOIDCProviderError("invalid_scope", oauthTexts.scopeMissing().text);
}

/** Use extends a session, up to a maximum age. */
export function sessionSeconds(signedInAt: number | undefined, now: number): number {
  const { idle, whole } = lifetimes.session;
  return signedInAt === undefined ? idle : Math.max(1, Math.min(idle, signedInAt + whole - now));
}

/** Users of a closed account are not found. */
async function findPerson(db: Db, { accountId, userId }: Person): Promise<boolean> {
  const user = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select("users.id")
    .where("users.account_id", "=", accountId)
    .where("users.id", "=", userId)
    .where("accounts.closed_at", "is", null)
    .executeTakeFirst();
  return user !== undefined;
}

async function findGrant({ oidc }: KoaContextWithOIDC) {
  const { provider, session, client, account, result } = oidc;
  if (session === undefined || client === undefined) return undefined;
  if (client.clientId === OWN_PAGES) {
    const grant = new provider.Grant({ accountId: account?.accountId, clientId: client.clientId });
    grant.addOIDCScope(OPENID);
    return grant;
  }
  const name = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  return name === undefined ? undefined : provider.Grant.find(name);
}

/** A person agrees to the client as it is now: the consent is bound to the epoch of the client that was shown. */
function interactionsPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const consent = policy.get("consent");
  if (consent !== undefined) consent.details = ({ oidc }) => ({ epoch: oidc.client && ownOf(oidc.client).epoch });
  return policy;
}

/** Only for the command line: other clients lack this grant type. The next page shows which computer is signed in. */
const deviceFlowOf = ({ pages }: ProviderDeps): NonNullable<Configuration["features"]>["deviceFlow"] => ({
  enabled: true,
  charset: "base-20",
  mask: "****-****",
  deviceInfo: (ctx) => ({ address: ctx.ip }),
  userCodeInputSource: (ctx, _form, out, error) => {
    const xsrf = String((ctx.oidc.session?.state as { secret: string } | undefined)?.secret);
    ctx.type = "html";
    ctx.body =
      error?.name === "AbortedError"
        ? pages.error(DEVICE_REFUSED)
        : pages.userCode({ action: paths.device, fields: { xsrf }, fault: deviceFault(out?.error, error) });
  },
  userCodeConfirmSource: () => {
    throw new Error("A code is never sent without its confirmation: see routes.ts.");
  },
  successSource: (ctx) => {
    ctx.type = "html";
    ctx.body = pages.deviceSignedIn();
  },
});
