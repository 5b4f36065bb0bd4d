import { randomBytes } from "node:crypto";
import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import type { World } from "../../packages/control-plane/src/testing/world.ts";

export type Person = { accountId: number; userId: number; username: string };

const hex = (bytes: number): string => randomBytes(bytes).toString("hex");

/** An OAuth client, as its registration leaves it. */
export async function newClient(world: World, accountId: number): Promise<string> {
  const id = hex(10);
  await world.db
    .insertInto("oauth_clients")
    .values({
      account_id: accountId,
      id,
      label: "An app",
      redirect_uri: "https://app.test/back",
      public: false,
      secret_sha256: sha256(hex(32)),
      created_at: world.time.now,
      deleted_at: null,
    })
    .execute();
  return id;
}

export const changeClient = (
  world: World,
  id: string,
  change: { status: "disabled" | "suspended" } | { deleted_at: Date } | { epoch: number },
) => world.db.updateTable("oauth_clients").set(change).where("id", "=", id).execute();

/** What the authorization server writes for a user's consent: the app grant and an access token. */
export async function consent(
  world: World,
  { accountId, userId }: Person,
  client: string,
  scopes: readonly string[],
): Promise<{ appGrantId: number; token: string }> {
  const token = hex(32);
  const { now } = world.time;
  const whose = { account_id: accountId, user_id: userId, scopes: [...scopes], created_at: now, revoked_at: null };
  const { id } = await world.db
    .insertInto("app_grants")
    .values({
      ...whose,
      client_id: client,
      client_epoch: 1,
      expires_at: later(now, 14 * 24),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await world.db
    .insertInto("tokens")
    .values({
      ...whose,
      label: "",
      prefix: "",
      sha256: sha256(token),
      app_grant_id: id,
      expires_at: later(now, 2),
    })
    .execute();
  return { appGrantId: id, token };
}

const later = (now: Date, hours: number): Date => new Date(now.getTime() + hours * 3600_000);
