import type { GlobalGrant, Permission } from "@moorage/contract";
import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";

type User = Selectable<Tables["users"]>;
type Grants = {
  global: Partial<Record<GlobalGrant, boolean | undefined>>;
  database: readonly { id: number; permissions: Permission | null }[];
};

/** What a restricted user holds. An unrestricted one holds nothing, and needs nothing. */
export async function readGrants(db: Db | Tx, user: User) {
  const database = await db
    .selectFrom("entity_grants")
    .innerJoin("databases", (join) =>
      join
        .onRef("databases.account_id", "=", "entity_grants.account_id")
        .onRef("databases.id", "=", "entity_grants.entity_id"),
    )
    .select(["databases.id", "databases.label", "entity_grants.permission as permissions"])
    .where("entity_grants.account_id", "=", user.account_id)
    .where("user_id", "=", user.id)
    .where("entity_type", "=", "database")
    .where("databases.deleted_at", "is", null)
    .orderBy("databases.id")
    .execute();
  const none = { account_read: false, account_write: false, add_databases: false, add_images: false };
  return { username: user.username, restricted: user.restricted, global: { ...none, ...user.global_grants }, database };
}

/** Changes what is named, and leaves the rest as it is. */
export async function saveGrants(tx: Tx, user: User, { global, database }: Grants): Promise<void> {
  await requireDatabases(
    tx,
    user.account_id,
    database.map(({ id }) => id),
  );
  await tx
    .updateTable("users")
    .set({ global_grants: sql`global_grants || ${JSON.stringify(global)}::jsonb` })
    .where("account_id", "=", user.account_id)
    .where("id", "=", user.id)
    .execute();
  for (const { id, permissions } of database) await saveDatabaseGrant(tx, user, id, permissions);
}

/**
 * Another account's database is refused like one that does not exist. They stay locked, so that none is deleted, and
 * its grants with it, before ours is written.
 */
async function requireDatabases(tx: Tx, accountId: number, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const found = await tx
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "in", ids)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .forShare()
    .execute();
  const known = new Set(found.map(({ id }) => id));
  const missing = ids.filter((id) => !known.has(id));
  if (missing.length > 0)
    throw new DomainError(
      "not-found",
      ...missing.map((id) => ({ field: "database", reason: `Account ${accountId} has no database ${id}.` })),
    );
}

async function saveDatabaseGrant(tx: Tx, user: User, id: number, permission: Permission | null): Promise<void> {
  const key = { account_id: user.account_id, user_id: user.id, entity_type: "database", entity_id: id } as const;
  if (permission === null)
    await tx
      .deleteFrom("entity_grants")
      .where((query) => query.and(key))
      .execute();
  else
    await tx
      .insertInto("entity_grants")
      .values({ ...key, permission })
      .onConflict((conflict) =>
        conflict.columns(["account_id", "user_id", "entity_type", "entity_id"]).doUpdateSet({ permission }),
      )
      .execute();
}
