import type { EntityGrant, EntityType, GrantList, Permission } from "@moorage/contract";
import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { GlobalGrants } from "./grants.ts";
import type { UserRow } from "./user-store.ts";

type User = { account_id: number; id: number };
type NewGrant = { id: number; permissions: Permission | null };

/** The wire's lists for kinds of objects that exist here, with their internal names and tables. */
const grantable = {
  database: { type: "database", table: "databases" },
  image: { type: "image", table: "images" },
  linode: { type: "compute", table: "computes" },
} as const satisfies Partial<Record<GrantList, { type: EntityType; table: string }>>;
export type GrantableList = keyof typeof grantable;
export const grantableLists = Object.keys(grantable) as GrantableList[];

export type NewGrants = Partial<Record<GrantableList, readonly NewGrant[]>>;

/** The account's objects of a kind with the user's permissions, or only those with a permission. */
export async function listGrants(
  db: Db | Tx,
  user: User,
  list: GrantableList,
  which: "all" | "held",
): Promise<EntityGrant[]> {
  const { type, table } = grantable[list];
  const { rows } = await sql<EntityGrant>`
    select entity.id, entity.label, held.permission as permissions
    from ${sql.table(table)} entity
    left join entity_grants held on held.account_id = entity.account_id and held.entity_id = entity.id
      and held.entity_type = ${type} and held.user_id = ${user.id}
    where entity.account_id = ${user.account_id} and entity.deleted_at is null
      and (${which === "all"}::boolean or held.permission is not null)
    order by entity.id`.execute(db);
  return rows;
}

/**
 * Returns the objects that the account does not have: those of other accounts, and deleted ones. The others stay
 * locked, so that none is deleted or transferred, with its grants, before the new grants are written.
 */
export async function missingEntities(
  tx: Tx,
  accountId: number,
  list: GrantableList,
  ids: readonly number[],
): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ id: number }>`
    select id from ${sql.table(grantable[list].table)}
    where account_id = ${accountId} and id = any(${ids}::bigint[]) and deleted_at is null
    order by id for share`.execute(tx);
  return new Set(ids).difference(new Set(rows.map(({ id }) => id)));
}

/**
 * Changes the named grants and leaves the rest. Of an object named twice, the last entry counts. Returns the user
 * afterwards.
 */
export async function saveGrants(
  tx: Tx,
  user: User,
  { global, ...lists }: NewGrants & { global: GlobalGrants },
): Promise<UserRow> {
  const after = await tx
    .updateTable("users")
    .set({ global_grants: sql`global_grants || ${JSON.stringify(global)}::jsonb` })
    .where("account_id", "=", user.account_id)
    .where("id", "=", user.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  for (const list of grantableLists) await saveList(tx, user, grantable[list].type, lists[list] ?? []);
  return after;
}

async function saveList(tx: Tx, user: User, type: EntityType, named: readonly NewGrant[]): Promise<void> {
  if (named.length === 0) return;
  const desired = [...new Map(named.map(({ id, permissions }) => [id, permissions]))];
  const taken = desired.filter(([, permission]) => permission === null).map(([id]) => id);
  const given = desired.filter(([, permission]) => permission !== null);
  await grantsOf(tx, user)
    .where("entity_type", "=", type)
    .where("entity_id", "=", sql<number>`any(${taken}::bigint[])`)
    .execute();
  await sql`
    insert into entity_grants (account_id, user_id, entity_type, entity_id, permission)
    select ${user.account_id}::bigint, ${user.id}::bigint, ${type}::text, given.id, given.permission
    from unnest(${given.map(([id]) => id)}::bigint[], ${given.map(([, permission]) => permission)}::text[])
      as given (id, permission)
    on conflict (account_id, user_id, entity_type, entity_id) do update set permission = excluded.permission`.execute(
    tx,
  );
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
