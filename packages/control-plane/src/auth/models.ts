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

/** Where the provider's models are not as we need them. Each is a method that its own code calls, and that we replace. */
export function adjustModels(provider: Provider): void {
  nameTokensInHex(provider);
  adjustClients(provider.Client.prototype);
  adjustScopes(provider);
  adjustSessions(provider);
  letRedirectBeLeftOut(provider);
}

/** The API knows tokens by that form, and one client of this family finds no other in an answer. */
function nameTokensInHex({ AccessToken, RefreshToken, AuthorizationCode }: Provider): void {
  for (const { prototype } of [AccessToken, RefreshToken, AuthorizationCode]) {
    const model = prototype as unknown as { generateTokenId(): string };
    const { generateTokenId } = model;
    model.generateTokenId = function (): string {
      // Called for what it notes on the token, beside making a name.
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

/** A scope that writes includes the one that reads: to the provider they are two words. */
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

/** A session that was ended while a request was under way must not come back with it. See `keptAs` in the adapter. */
function adjustSessions({ Session }: Provider): void {
  const known = (Session as unknown as { IN_PAYLOAD: string[] }).IN_PAYLOAD;
  Object.defineProperty(Session, "IN_PAYLOAD", { get: () => [...known, "keptAs"] });
  const { save } = Session.prototype;
  Session.prototype.save = function (this: Session & { oldId?: string | undefined }, ttl) {
    // The provider would end the former name, and write the session anew.
    this.oldId = undefined;
    return save.call(this, ttl);
  };
}

/** Clients leave it out although they gave it before. The code is this client's, and its proof or its secret is asked for. */
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
