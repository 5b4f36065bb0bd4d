import { toTimestamp } from "@moorage/contract";
import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { tokenTexts as texts } from "./texts.ts";

/** 401 for a request without a valid token. Clients check the first two words. */
export const invalidToken = (reason = texts.noLongerValid()): DomainError =>
  new DomainError("unauthorized", { reason });

/** Why a header contains no token. */
export function whyNoToken(authorization: string | undefined): Text {
  const [scheme = "", ...rest] = (authorization ?? "").trim().split(/ +/);
  if (scheme === "") return texts.missing();
  if (/^(?:bearer|token)$/i.test(scheme))
    return rest.length === 0 ? texts.missingAfterScheme({ scheme }) : texts.malformed();
  return /^[0-9a-f]{64}$/i.test(scheme) ? texts.schemeMissing() : texts.schemeUnknown();
}

/**
 * Why a well-formed token is not valid. Called only after the normal lookup failed, and runs one statement whatever the
 * reason. The reason is only shown to a caller who has the whole token.
 */
export async function whyNotGood(db: Db, hash: Buffer, now: Date): Promise<Text> {
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
  if (row === undefined) return texts.unknown();
  const { expires_at, revoked_at, closed_at, app_grant_id } = row;
  const ofApp = app_grant_id !== null;
  if (revoked_at !== null) return texts.revoked({ at: toTimestamp(revoked_at), ofApp });
  if (expires_at !== null && expires_at <= now) return texts.expired({ at: toTimestamp(expires_at), ofApp });
  if (closed_at !== null) return texts.accountClosed();
  return texts.appInactive({ ofApp });
}
