import type { EntityType, Permission } from "@moorage/contract";
import { type RawBuilder, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { type Principal, requirePermission } from "./principal.ts";

/** A restricted user's permission on one object. */
export async function permissionOn(
  db: Db | Tx,
  principal: Principal,
  type: EntityType,
  id: number,
): Promise<Permission | undefined> {
  const grant = await db
    .selectFrom("entity_grants")
    .select("permission")
    .where("account_id", "=", principal.accountId)
    .where("user_id", "=", principal.userId)
    .where("entity_type", "=", type)
    .where("entity_id", "=", id)
    .executeTakeFirst();
  return grant?.permission;
}

/**
 * For an object that the body names. False: the object does not exist for this user. Throws if the user has only read
 * access.
 */
export const mayUse = async (
  db: Db | Tx,
  principal: Principal,
  type: EntityType,
  id: number,
  needed: Permission,
): Promise<boolean> =>
  !principal.restricted || requirePermission(await permissionOn(db, principal, type, id), needed) === "allowed";

/** For lists: whether the user may see the object whose id is in this column. Always true for an unrestricted user. */
export const mayView = (principal: Principal, type: EntityType, idColumn: string) =>
  principal.restricted
    ? sql<boolean>`exists (select from entity_grants where account_id = ${principal.accountId} and user_id = ${principal.userId}
        and entity_type = ${type} and entity_id = ${sql.ref(idColumn)})`
    : sql<boolean>`true`;

/**
 * The part of a statement that grants the creator of objects access to each row of another part: otherwise a restricted
 * user could not use what they created.
 */
export const granting = (
  { accountId, userId, id }: { accountId: number; userId: number; id: number },
  type: EntityType,
  from: RawBuilder<unknown>,
) => sql`
  insert into entity_grants (account_id, user_id, entity_type, entity_id, permission)
  select ${accountId}::bigint, ${userId}::bigint, ${type}::text, ${id}::bigint, 'read_write' ${from}`;

/** Removes all grants on objects that were deleted. */
export const dropGrants = (tx: Tx, accountId: number, type: EntityType, ...ids: readonly number[]): Promise<unknown> =>
  tx
    .deleteFrom("entity_grants")
    .where("account_id", "=", accountId)
    .where("entity_type", "=", type)
    .where("entity_id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();

type User = { account_id: number; id: number };

/**
 * Changes a user's grants on the named objects of a kind; null takes one away. Of an object named twice, the last entry
 * counts.
 */
export async function saveEntityGrants(
  tx: Tx,
  user: User,
  type: EntityType,
  named: readonly { id: number; permissions: Permission | null }[],
): Promise<void> {
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

/** A user's grants on all objects. */
export const dropEntityGrants = (tx: Tx, user: User): Promise<unknown> => grantsOf(tx, user).execute();

const grantsOf = (tx: Tx, user: User) =>
  tx.deleteFrom("entity_grants").where("account_id", "=", user.account_id).where("user_id", "=", user.id);
