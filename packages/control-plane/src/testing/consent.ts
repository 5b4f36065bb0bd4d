import { randomBytes } from "node:crypto";
import { sha256 } from "#platform/sha256.ts";
import type { World } from "./world.ts";

const HOUR_MS = 3_600_000;

/** The rows of a user's consent, as the authorization server writes them: an app grant, and its access tokens. */
export async function consent(
  { db, time }: World,
  { accountId, userId }: { accountId: number; userId: number },
  clientId: string,
  { scopes = ["*"], tokens = 1 }: { scopes?: readonly string[]; tokens?: number } = {},
): Promise<{ appGrantId: number; token: string; all: string[] }> {
  const { now } = time;
  const { epoch } = await db
    .selectFrom("oauth_clients")
    .select("epoch")
    .where("id", "=", clientId)
    .executeTakeFirstOrThrow();
  const held = { account_id: accountId, user_id: userId, scopes: [...scopes], created_at: now, revoked_at: null };
  const { id: appGrantId } = await db
    .insertInto("app_grants")
    .values({
      ...held,
      client_id: clientId,
      client_epoch: epoch,
      expires_at: new Date(now.getTime() + 336 * HOUR_MS),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const all = Array.from({ length: tokens }, () => randomBytes(32).toString("hex"));
  await db
    .insertInto("tokens")
    .values(
      all.map((token) => ({
        ...held,
        label: "",
        prefix: "",
        sha256: sha256(token),
        app_grant_id: appGrantId,
        expires_at: new Date(now.getTime() + 2 * HOUR_MS),
      })),
    )
    .execute();
  return { appGrantId, token: all[0] as string, all };
}
