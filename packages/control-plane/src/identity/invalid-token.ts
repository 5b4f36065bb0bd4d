import { toTimestamp } from "@moorage/contract";
import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";

/** 401 for a request without a valid token. Clients check the first two words. */
export const invalidToken = (why = "this token is not valid any more."): DomainError =>
  new DomainError("unauthorized", { reason: `Invalid Token: ${why}` });

const HOW_TO_SEND = "Send `Authorization: Bearer <token>`.";

/** Why a header contains no token. */
export function whyNoToken(authorization: string | undefined): string {
  const [scheme = "", ...rest] = (authorization ?? "").trim().split(/ +/);
  if (scheme === "") return `no token was sent. ${HOW_TO_SEND}`;
  if (/^(?:bearer|token)$/i.test(scheme))
    return rest.length === 0
      ? `no token was sent after \`${scheme}\`. ${HOW_TO_SEND}`
      : "a token has 64 hexadecimal digits, and what was sent has not. Check that it was copied whole.";
  return /^[0-9a-f]{64}$/i.test(scheme)
    ? `the word \`Bearer\` is missing before the token. ${HOW_TO_SEND}`
    : `only the scheme Bearer is accepted. ${HOW_TO_SEND}`;
}

/**
 * Why a well-formed token is not valid. Called only after the normal lookup failed, and runs one statement whatever the
 * reason. The reason is only shown to a caller who has the whole token.
 */
export async function whyNotGood(db: Db, hash: Buffer, now: Date): Promise<string> {
  const row = await db
    .selectFrom("tokens")
    .innerJoin("accounts", "accounts.id", "tokens.account_id")
    .leftJoin("app_grants", (join) =>
      join.onRef("app_grants.account_id", "=", "tokens.account_id").onRef("app_grants.id", "=", "tokens.app_grant_id"),
    )
    .select(["tokens.expires_at", "tokens.app_grant_id", "accounts.closed_at"])
    .select(sql<Date | null>`least(tokens.revoked_at, app_grants.revoked_at)`.as("revoked_at"))
    .where("tokens.sha256", "=", hash)
    .executeTakeFirst();
  if (row === undefined)
    return "this token is unknown. It is mistyped, of another installation, or its user was deleted.";
  const { expires_at, revoked_at, closed_at, app_grant_id } = row;
  const another = app_grant_id === null ? "Make another one." : "The app has to ask for access again.";
  if (revoked_at !== null) return `this token was revoked at ${toTimestamp(revoked_at)} (UTC). ${another}`;
  if (expires_at !== null && expires_at <= now)
    return `this token expired at ${toTimestamp(expires_at)} (UTC). ${another}`;
  if (closed_at !== null) return "the account of this token is closed.";
  return `this token was revoked: its app is not active any more. ${another}`;
}
