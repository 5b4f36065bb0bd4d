import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { sha256 } from "#platform/sha256.ts";
import { tokenIn } from "./authenticate.ts";

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
