import type { EntityType, Permission } from "@moorage/contract";
import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Principal } from "./principal.ts";

/** What a restricted user holds on one object. */
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

/** For lists: whether the user may see the object whose id is in this column. Always for an unrestricted user. */
export const mayView = (principal: Principal, type: EntityType, idColumn: string) =>
  principal.restricted
    ? sql<boolean>`exists (select from entity_grants where account_id = ${principal.accountId} and user_id = ${principal.userId}
        and entity_type = ${type} and entity_id = ${sql.ref(idColumn)})`
    : sql<boolean>`true`;

/** Who makes something may use it: otherwise the next request would not find it. */
export async function grantCreator(tx: Tx, principal: Principal, type: EntityType, id: number): Promise<void> {
  if (!principal.restricted) return;
  await tx
    .insertInto("entity_grants")
    .values({
      account_id: principal.accountId,
      user_id: principal.userId,
      entity_type: type,
      entity_id: id,
      permission: "read_write",
    })
    .execute();
}

/** The object is gone, and so is what anybody held on it. */
export const dropGrants = (tx: Tx, accountId: number, type: EntityType, id: number): Promise<unknown> =>
  tx
    .deleteFrom("entity_grants")
    .where("account_id", "=", accountId)
    .where("entity_type", "=", type)
    .where("entity_id", "=", id)
    .execute();
