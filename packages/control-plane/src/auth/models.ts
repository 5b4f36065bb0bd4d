import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  type AuthorizationCode,
  type Client,
  type Grant,
  Provider,
  type RefreshToken,
  type Session,
} from "oidc-provider";
import { sha256 } from "#platform/sha256.ts";
import { isRedirectOf } from "./client-metadata.ts";
import { included, within } from "./scopes.ts";

/** Replaces methods of the provider's models that do not behave as we need. */
export function adjustModels(provider: Provider): void {
  nameTokensInHex(provider);
  adjustClients(provider.Client.prototype);
  adjustScopes(provider);
  adjustSessions(provider);
  letRedirectBeLeftOut(provider);
}

/** The API recognises tokens by this form, and one client of this family accepts no other in an answer. */
function nameTokensInHex({ AccessToken, RefreshToken, AuthorizationCode }: Provider): void {
  for (const { prototype } of [AccessToken, RefreshToken, AuthorizationCode]) {
    const model = prototype as unknown as { generateTokenId(): string };
    const { generateTokenId } = model;
    model.generateTokenId = function (): string {
      // Called for its side effect on the token; its name is not used.
      generateTokenId.call(this);
      return randomBytes(32).toString("hex");
    };
  }
}

function adjustClients(client: Client): void {
  client.redirectUriAllowed = function (this: Client, given) {
    return isRedirectOf(this, given);
  };
  client.compareClientSecret = function (this: Client, given) {
    const right = Buffer.from(this.clientSecret ?? "", "hex");
    const hash = sha256(given);
    return right.length === hash.length && timingSafeEqual(right, hash);
  };
}

const listOf = (scope: string): string[] => scope.split(" ").filter((each) => each !== "");

/** A read_write scope includes the read_only one; the provider treats them as unrelated. */
function adjustScopes({ Grant, RefreshToken }: Provider): void {
  Grant.prototype.getOIDCScopeEncountered = function (this: Grant) {
    return included(listOf(this.getOIDCScope())).join(" ");
  };
  Grant.prototype.getOIDCScopeFiltered = function (this: Grant, requested) {
    return within(listOf(this.getOIDCScope()), requested).join(" ");
  };
  Object.defineProperty(RefreshToken.prototype, "scopes", {
    get(this: RefreshToken) {
      return new Set(included(listOf(this.scope ?? "")));
    },
  });
}

/** A session that was ended during a request must not be stored again by that request. See `keptAs` in the adapter. */
function adjustSessions({ Session }: Provider): void {
  const known = (Session as unknown as { IN_PAYLOAD: string[] }).IN_PAYLOAD;
  Object.defineProperty(Session, "IN_PAYLOAD", { get: () => [...known, "keptAs"] });
  const { save } = Session.prototype;
  Session.prototype.save = function (this: Session & { oldId?: string | undefined }, ttl) {
    // Otherwise the provider would delete the former name, and store the session as new.
    this.oldId = undefined;
    return save.call(this, ttl);
  };
}

/**
 * Some clients omit the redirect URI in the token request. This is safe: the code belongs to this client, which must
 * prove itself with PKCE or its secret.
 */
function letRedirectBeLeftOut({ AuthorizationCode }: Provider): void {
  type Find = (value: string, options?: object) => Promise<AuthorizationCode | undefined>;
  const model = AuthorizationCode as unknown as { find: Find };
  const { find } = model;
  model.find = async function (value, options) {
    const code = await find.call(this, value, options);
    const oidc = Provider.ctx?.oidc;
    if (code?.redirectUri !== undefined && oidc?.body?.redirect_uri === undefined && oidc?.params !== undefined)
      oidc.params.redirect_uri = code.redirectUri;
    return code;
  };
}
