import type { EventEntity, Notification } from "@moorage/contract";
import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { Text } from "@moorage/contract/texts";

/** One cause of one entity: raising it again replaces the message and keeps the start time. */
export type Cause = { accountId: number; entity: EventEntity; cause: string };
export type Notice = Pick<Notification, "type" | "severity"> & { label: Text; message: Text; body: Text | null };

export const raise = (tx: Tx, cause: Cause, notice: Notice, since: Date): Promise<void> =>
  raiseAll(tx, [[cause, notice]], since);

export async function raiseAll(tx: Tx, causes: readonly (readonly [Cause, Notice])[], since: Date): Promise<void> {
  if (causes.length === 0) return;
  const rows = causes.map(([{ accountId, entity, cause }, notice]) => ({
    account_id: accountId,
    entity_type: entity.type,
    entity_id: keptId(entity),
    entity_label: entity.label,
    entity_url: entity.url,
    cause,
    type: notice.type,
    severity: notice.severity,
    label: notice.label.text,
    message: notice.message.text,
    body: notice.body?.text ?? null,
    since,
    until: null,
  }));
  await tx
    .insertInto("notifications")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["account_id", "entity_type", "entity_id", "cause"]).doUpdateSet({
        type: sql.ref("excluded.type"),
        severity: sql.ref("excluded.severity"),
        label: sql.ref("excluded.label"),
        message: sql.ref("excluded.message"),
        body: sql.ref("excluded.body"),
      }),
    )
    .execute();
}

/** Returns whether there was one to resolve. */
export async function resolve(tx: Tx, { accountId, entity, cause }: Cause): Promise<boolean> {
  const resolved = await ofEntity(tx, accountId, entity).where("cause", "=", cause).returning("id").executeTakeFirst();
  return resolved !== undefined;
}

/** Called when the entity is deleted. */
export const dropNotifications = (tx: Tx, accountId: number, entity: EventEntity): Promise<unknown> =>
  ofEntity(tx, accountId, entity).execute();

const ofEntity = (tx: Tx, accountId: number, entity: EventEntity) =>
  tx
    .deleteFrom("notifications")
    .where("account_id", "=", accountId)
    .where("entity_type", "=", entity.type)
    .where("entity_id", "=", keptId(entity));

/** An account has no id on the wire, and a key column takes no null. */
const keptId = ({ id }: EventEntity): string => (id === null ? "" : String(id));
