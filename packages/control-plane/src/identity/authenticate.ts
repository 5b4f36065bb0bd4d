import { sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { prepare } from "#platform/db/prepare.ts";
import { sha256 } from "#platform/sha256.ts";
import { invalidToken, whyNotGood, whyNoToken } from "./invalid-token.ts";
import type { Principal } from "./principal.ts";

const REMEMBER_MS = 5_000;
const MOST_REMEMBERED = 20_000;

export type KnownToken = { principal: Principal; expiresAt: Date | null };

/**
 * Caches tokens briefly, so that most requests need no lookup. It may only be used while this process listens for
 * revocations: call `open` when listening starts, and `close` when it may have ended. Both empty the cache.
 */
type TokenCache = {
  get(hash: string): KnownToken | undefined;
  /** Starts a lookup; its result is cached only if nothing was invalidated meanwhile. */
  startLookUp(): (hash: string, token: KnownToken) => void;
  forget(): void;
  open(): void;
  close(): void;
};

export type Authenticate = (authorization: string | undefined) => Promise<Principal>;

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

/** `Bearer` is the documented scheme; one SDK sends `token`. */
const scheme = /^(?:bearer|token) +([0-9a-f]{64})$/i;

const tokenIn = (authorization: string | undefined): string | undefined => scheme.exec(authorization ?? "")?.[1];

async function lookUp(db: Db, hash: Buffer): Promise<KnownToken | undefined> {
  const [row] = await tokenByHash(db, { hash });
  if (row === undefined) return undefined;
  const { expiresAt, ...principal } = row;
  return { principal, expiresAt };
}

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
      "tokens.confirmed_until as confirmedUntil",
    ])
    .select(["users.id as userId", "users.username", "users.restricted", "users.global_grants as globalGrants"])
    .select(sql<Date>`coalesce(users.name_since, users.created_at)`.as("nameSince"))
    .select(["accounts.euuid as accountUuid", "oauth_clients.id as clientId"])
    .where("tokens.sha256", "=", hash)
    .where("tokens.revoked_at", "is", null)
    .where("accounts.closed_at", "is", null)
    .where(({ or, eb }) => or([eb("tokens.app_grant_id", "is", null), eb("owners.id", "is not", null)])),
);

/**
 * The former holder of a token whose account is closed. It serves one purpose: repeating the answer to a cancellation,
 * if it was lost, to a request with the same token, key and body.
 */
export async function closedAccountHolder(
  { db, clock }: { db: Db; clock: Clock },
  authorization: string | undefined,
): Promise<{ accountId: number; userId: number } | undefined> {
  const token = tokenIn(authorization);
  if (token === undefined) return undefined;
  return db
    .selectFrom("tokens")
    .innerJoin("accounts", "accounts.id", "tokens.account_id")
    .select(["tokens.account_id as accountId", "tokens.user_id as userId"])
    .where("tokens.sha256", "=", sha256(token))
    .where("tokens.revoked_at", "is", null)
    .where((is) => is.or([is("tokens.expires_at", "is", null), is("tokens.expires_at", ">", clock())]))
    .where("accounts.closed_at", "is not", null)
    .executeTakeFirst();
}

export function createTokenCache(clock: Clock): TokenCache {
  const known = new Map<string, { token: KnownToken; until: number }>();
  let usable = false;
  let generation = 0;
  const forget = (): void => {
    known.clear();
    generation++;
  };
  return {
    get(hash) {
      const found = usable ? known.get(hash) : undefined;
      return found !== undefined && found.until > clock().getTime() ? found.token : undefined;
    },
    startLookUp() {
      const startGeneration = generation;
      return (hash, token) => {
        if (!usable || startGeneration !== generation) return;
        // Clearing everything is rare and cheap, and needs no tracking of last use.
        if (known.size >= MOST_REMEMBERED) known.clear();
        known.set(hash, { token, until: clock().getTime() + REMEMBER_MS });
      };
    },
    forget,
    open() {
      forget();
      usable = true;
    },
    close() {
      usable = false;
      forget();
    },
  };
}
