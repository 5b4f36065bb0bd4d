import type { EventEntity, Notification } from "@moorage/contract";
import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Filter } from "#platform/filter.ts";
import type { PageRequest } from "#platform/http/page.ts";

export type NotificationRow = Selectable<Tables["notifications"]>;

/** One cause of one entity: raised again it says something newer, and since when stays. */
type Cause = { accountId: number; entity: EventEntity; cause: string };

export const raise = (
  tx: Tx,
  { accountId, entity, cause }: Cause,
  notice: Pick<Notification, "type" | "severity" | "label" | "message" | "body">,
  since: Date,
): Promise<unknown> =>
  tx
    .insertInto("notifications")
    .values({
      account_id: accountId,
      entity_type: entity.type,
      entity_id: String(entity.id),
      entity_label: entity.label,
      entity_url: entity.url,
      cause,
      ...notice,
      since,
      until: null,
    })
    .onConflict((conflict) => conflict.columns(["account_id", "entity_type", "entity_id", "cause"]).doUpdateSet(notice))
    .execute();

/** Whether there was one to resolve. */
export async function resolve(tx: Tx, { accountId, entity, cause }: Cause): Promise<boolean> {
  const resolved = await ofEntity(tx, accountId, entity).where("cause", "=", cause).returning("id").executeTakeFirst();
  return resolved !== undefined;
}

/** With what they were about. */
export const dropNotifications = (tx: Tx, accountId: number, entity: EventEntity): Promise<unknown> =>
  ofEntity(tx, accountId, entity).execute();

const ofEntity = (tx: Tx, accountId: number, entity: EventEntity) =>
  tx
    .deleteFrom("notifications")
    .where("account_id", "=", accountId)
    .where("entity_type", "=", entity.type)
    .where("entity_id", "=", String(entity.id));

export const listNotificationPage = (db: Db, accountId: number, page: PageRequest, filter: Filter) =>
  listPage(db.selectFrom("notifications").selectAll().where("account_id", "=", accountId), {
    page,
    filter,
    columns: { type: sql.ref("type"), "entity.type": sql.ref("entity_type") },
    lastly: { by: "id" },
  });
