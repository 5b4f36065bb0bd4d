import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { prepare } from "#platform/db/prepare.ts";
import { sha256 } from "#platform/sha256.ts";
import { invalidToken, whyNoToken, whyNotGood } from "./invalid-token.ts";
import type { Principal } from "./principal.ts";
import type { KnownToken, TokenCache } from "./token-cache.ts";

export type Authenticate = (authorization: string | undefined) => Promise<Principal>;

/** `Bearer` is the documented scheme; one SDK sends `token`. */
const scheme = /^(?:bearer|token) +([0-9a-f]{64})$/i;

export const tokenIn = (authorization: string | undefined): string | undefined => scheme.exec(authorization ?? "")?.[1];

export const createAuthenticate =
  ({ db, clock, tokens }: { db: Db; clock: Clock; tokens: TokenCache }): Authenticate =>
  async (authorization) => {
    const token = tokenIn(authorization);
    if (token === undefined) throw invalidToken(whyNoToken(authorization));
    const hash = sha256(token);
    const name = hash.toString("base64");
    const remember = tokens.startLookUp();
    const cached = tokens.get(name);
    const known = cached ?? (await lookUp(db, hash));
    if (known === undefined || (known.expiresAt !== null && known.expiresAt <= clock()))
      throw invalidToken(await whyNotGood(db, hash, clock()));
    if (cached === undefined) remember(name, known);
    return known.principal;
  };

/** Uses only indexes, however many tokens apps have. */
const tokenByHash = prepare("token-by-hash", (db, { hash }: { hash: Buffer }) =>
  db
    .selectFrom("tokens")
    .innerJoin("users", (join) =>
      join.onRef("users.account_id", "=", "tokens.account_id").onRef("users.id", "=", "tokens.user_id"),
    )
    .innerJoin("accounts", "accounts.id", "tokens.account_id")
    // For a token of an app: its grant, its client, and the client's account.
    .leftJoin("app_grants", (join) =>
      join
        .onRef("app_grants.account_id", "=", "tokens.account_id")
        .onRef("app_grants.id", "=", "tokens.app_grant_id")
        .on("app_grants.revoked_at", "is", null),
    )
    .leftJoin("oauth_clients", (join) =>
      join
        .onRef("oauth_clients.id", "=", "app_grants.client_id")
        .onRef("oauth_clients.epoch", "=", "app_grants.client_epoch")
        .on("oauth_clients.status", "=", "active")
        .on("oauth_clients.deleted_at", "is", null),
    )
    .leftJoin("accounts as owners", (join) =>
      join.onRef("owners.id", "=", "oauth_clients.account_id").on("owners.closed_at", "is", null),
    )
    .select([
      "tokens.id as tokenId",
      "tokens.account_id as accountId",
      "tokens.scopes",
      "tokens.expires_at as expiresAt",
    ])
    .select(["users.id as userId", "users.username", "users.restricted", "users.global_grants as globalGrants"])
    .select(sql<Date>`coalesce(users.name_since, users.created_at)`.as("nameSince"))
    .select(["accounts.euuid as accountUuid", "oauth_clients.id as clientId"])
    .where("tokens.sha256", "=", hash)
    .where("tokens.revoked_at", "is", null)
    .where("accounts.closed_at", "is", null)
    .where(({ or, eb }) => or([eb("tokens.app_grant_id", "is", null), eb("owners.id", "is not", null)])),
);

async function lookUp(db: Db, hash: Buffer): Promise<KnownToken | undefined> {
  const [row] = await tokenByHash(db, { hash });
  if (row === undefined) return undefined;
  const { expiresAt, ...principal } = row;
  return { principal, expiresAt };
}
