import { randomBytes } from "node:crypto";
import type { DatabaseStatus } from "@moorage/contract";
import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import { hasBackup } from "../../packages/control-plane/src/testing/past.ts";
import { ENGINE, PLAN, REGION, type World } from "../../packages/control-plane/src/testing/world.ts";

type Permission = "read_only" | "read_write";
export type Target = { params: Record<string, string>; databaseId?: number };
export type Stage = Awaited<ReturnType<typeof newStage>>;

const LIMITS = { databases: 1000, nodes: 1000, memory_mb: 10_240_000, disk_mb: 102_400_000 };
let users = 0;

/** One account with its owner, the users and tokens that a case needs, and a stranger in an account of their own. */
export async function newStage(world: World) {
  const owner = await world.customer({ limits: LIMITS });
  const stranger = await world.customer();
  const account = `/admin/accounts/${owner.accountId}/users`;

  const user = async (restricted: boolean): Promise<string> => {
    const username = `staged-${++users}`;
    await world.operator.post(account, { username, email: `${username}@test.example`, restricted });
    return username;
  };
  const token = async (username: string, scopes: readonly string[] = ["*"]): Promise<string> => {
    const issued = await world.operator.post<{ token: string }>(`${account}/${username}/tokens`, {
      label: "staged",
      scopes,
    });
    return issued.body.token;
  };
  const changed = async (secret: string, change: { revoked_at: Date } | { expires_at: Date }): Promise<string> => {
    await world.db.updateTable("tokens").set(change).where("sha256", "=", sha256(secret)).execute();
    return secret;
  };
  const unrestricted = await user(false);
  const past = new Date(world.time.now.getTime() - 1000);

  return {
    owner: owner.token,
    stranger: stranger.token,
    unknown: randomBytes(32).toString("hex"),
    revoked: await changed(await token(unrestricted), { revoked_at: past }),
    expired: await changed(await token(unrestricted), { expires_at: past }),
    withScopes: (scopes: readonly string[]) => token(unrestricted, scopes),
    strangerWithScopes: async (scopes: readonly string[]) => (await world.customer({ scopes: [...scopes] })).token,

    async restricted(held: { grants?: readonly string[]; on?: [Target, Permission]; scopes?: readonly string[] } = {}) {
      const username = await user(true);
      const grants = Object.fromEntries((held.grants ?? []).map((grant) => [grant, true]));
      const row = await world.db
        .updateTable("users")
        .set({ global_grants: JSON.stringify(grants) as never })
        .where("username", "=", username)
        .returning("id")
        .executeTakeFirstOrThrow();
      const [target, permission] = held.on ?? [];
      if (target?.databaseId !== undefined && permission !== undefined)
        await world.db
          .insertInto("entity_grants")
          .values({
            account_id: owner.accountId,
            user_id: row.id,
            entity_type: "database",
            entity_id: target.databaseId,
            permission,
          })
          .execute();
      return token(username, held.scopes);
    },

    /** Something of the account for the parameters of a path to name. */
    async target(names: readonly string[], status: DatabaseStatus = "active"): Promise<Target> {
      const catalogue = { engineId: ENGINE, typeId: PLAN, regionId: REGION, metric: "connections" };
      if (names.every((name) => name in catalogue)) return { params: catalogue };
      const { id } = (await owner.create()).body;
      const backup = names.includes("backupId") ? { backupId: await backupOf(world, id) } : {};
      // The state in which everything is possible, so that a refusal is about the principal.
      await world.db.updateTable("databases").set({ status }).where("id", "=", id).execute();
      const { id: eventId } = await world.db
        .selectFrom("events")
        .select("id")
        .where("account_id", "=", owner.accountId)
        .where("entity_id", "=", String(id))
        .executeTakeFirstOrThrow();
      const params = { ...catalogue, ...backup, instanceId: String(id), eventId: String(eventId) };
      return { params, databaseId: id };
    },
  };
}

/** A backup to restore from needs a node to restore into, and the world a host. */
async function backupOf(world: World, id: number): Promise<string> {
  await world.activities.wantNodes((await world.lastOperation()).id);
  return String((await hasBackup(world, { id })).id);
}

/** An id as long as the one that exists, so that nothing but existence differs. */
export function absent({ params }: Target): Target {
  const other = (value: string): string =>
    /^\d+$/.test(value) ? String(BigInt(value) + 1_000_003n) : `${value.slice(0, -1)}~`;
  return { params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, other(value)])) };
}
