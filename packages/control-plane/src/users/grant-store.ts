import type { EntityGrant, Permission } from "@moorage/contract";
import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { GlobalGrants } from "./grants.ts";
import type { UserRow } from "./user-store.ts";

type User = { account_id: number; id: number };
type NewGrant = { id: number; permissions: Permission | null };

/** The databases of the account with what the user may do on each, or only those on which they may do something. */
export const listDatabaseGrants = (db: Db | Tx, user: User, which: "all" | "held"): Promise<EntityGrant[]> =>
  db
    .selectFrom("databases")
    .leftJoin("entity_grants", (join) =>
      join
        .onRef("entity_grants.account_id", "=", "databases.account_id")
        .onRef("entity_grants.entity_id", "=", "databases.id")
        .on("entity_grants.entity_type", "=", "database")
        .on("entity_grants.user_id", "=", user.id),
    )
    .select(["databases.id", "databases.label", "entity_grants.permission as permissions"])
    .where("databases.account_id", "=", user.account_id)
    .where("databases.deleted_at", "is", null)
    .$if(which === "held", (query) => query.where("entity_grants.permission", "is not", null))
    .orderBy("databases.id")
    .execute();

/**
 * Which of these the account does not have: another account's, and deleted ones. The others stay locked, so that none
 * is deleted, and its grants with it, before ours is written.
 */
export async function missingDatabases(tx: Tx, accountId: number, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const found = await tx
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", sql<number>`any(${ids}::bigint[])`)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .forShare()
    .execute();
  return new Set(ids).difference(new Set(found.map(({ id }) => id)));
}

/** Changes what is named, and leaves the rest as it is. What is named twice is as it is named last. The user after it. */
export async function saveGrants(
  tx: Tx,
  user: User,
  { global, database }: { global: GlobalGrants; database: readonly NewGrant[] },
): Promise<UserRow> {
  const after = await tx
    .updateTable("users")
    .set({ global_grants: sql`global_grants || ${JSON.stringify(global)}::jsonb` })
    .where("account_id", "=", user.account_id)
    .where("id", "=", user.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const wanted = [...new Map(database.map(({ id, permissions }) => [id, permissions]))];
  const taken = wanted.filter(([, permission]) => permission === null).map(([id]) => id);
  const given = wanted.filter(([, permission]) => permission !== null);
  await grantsOf(tx, user)
    .where("entity_type", "=", "database")
    .where("entity_id", "=", sql<number>`any(${taken}::bigint[])`)
    .execute();
  await sql`
    insert into entity_grants (account_id, user_id, entity_type, entity_id, permission)
    select ${user.account_id}::bigint, ${user.id}::bigint, 'database', given.id, given.permission
    from unnest(${given.map(([id]) => id)}::bigint[], ${given.map(([, permission]) => permission)}::text[])
      as given (id, permission)
    on conflict (account_id, user_id, entity_type, entity_id) do update set permission = excluded.permission`.execute(
    tx,
  );
  return after;
}

export async function dropAllGrants(tx: Tx, user: User): Promise<void> {
  await tx
    .updateTable("users")
    .set({ global_grants: "{}" })
    .where("account_id", "=", user.account_id)
    .where("id", "=", user.id)
    .execute();
  await grantsOf(tx, user).execute();
}

const grantsOf = (tx: Tx, user: User) =>
  tx.deleteFrom("entity_grants").where("account_id", "=", user.account_id).where("user_id", "=", user.id);
