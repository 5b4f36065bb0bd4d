import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import type { Principal } from "./principal.ts";

export type Authenticate = (authorization: string | undefined) => Promise<Principal>;

const invalidToken = (): DomainError => new DomainError("unauthorized", { reason: "Invalid Token" });

/** `Bearer` is the interface's scheme; one SDK says `token`. */
const scheme = /^(?:bearer|token) +([0-9a-f]{64})$/i;

export const createAuthenticate =
  (db: Db, clock: Clock): Authenticate =>
  async (authorization) => {
    const token = scheme.exec(authorization ?? "")?.[1];
    if (token === undefined) throw invalidToken();
    const row = await db
      .selectFrom("tokens")
      .innerJoin("users", (join) =>
        join.onRef("users.account_id", "=", "tokens.account_id").onRef("users.id", "=", "tokens.user_id"),
      )
      .select(["tokens.account_id", "tokens.scopes", "tokens.expires_at", "tokens.revoked_at"])
      .select(["users.id as user_id", "users.username", "users.restricted"])
      .where("tokens.sha256", "=", sha256(token))
      .executeTakeFirst();
    if (row === undefined || row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= clock()))
      throw invalidToken();
    return {
      accountId: row.account_id,
      userId: row.user_id,
      username: row.username,
      restricted: row.restricted,
      scopes: row.scopes,
    };
  };
